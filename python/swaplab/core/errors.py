"""Errors that end a command with one line."""

from __future__ import annotations

from swaplab._core import BadInput, NotSupported

__all__ = ["BadInput", "Failed", "NotSupported"]


class Failed(Exception):
    """Something that should have gone well did not; the message is one line."""
