"""Which tests may run side by side: `make test` runs two at a time, and afterwards, one by one, those marked `alone`."""

import signal
from pathlib import Path

import pytest

# A shell that starts the tests in the background has interrupts ignored, and every program that a test starts would inherit that:
# Ctrl-C could not be tested.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: Tests that change the kernel's settings, or that need a core for the pager beside the program's own.
ALONE = ("live/", "python/test_run", "python/test_memory_world")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of `ALONE`; keep the others of one file on one worker, as they share fixtures."""
    root = Path(__file__).parent
    for item in items:
        place = item.path.relative_to(root).as_posix()
        if place.startswith(ALONE):
            item.add_marker("alone")
        if item.config.pluginmanager.hasplugin("xdist"):
            item.add_marker(pytest.mark.xdist_group(place))
