"""Errors that end a command with one line."""

from __future__ import annotations

from swaplab._core import BadInput, NotSupported

__all__ = ["BadInput", "Failed", "NotSupported"]


class Failed(Exception):
    """An operation failed for another reason than bad input; the message is one line."""
