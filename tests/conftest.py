"""Which tests may run side by side: `make test` runs two at a time, and afterwards, one by one,
those marked `alone`.
"""

import signal
from pathlib import Path

import pytest

# A shell that starts the tests in the background has interrupts ignored, and every program that a
# test starts would inherit that: Ctrl-C could not be tested.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: Tests that change the kernel's settings, or that need a core for the pager beside the program's
#: own.
ALONE = ("live/", "python/test_run", "python/test_memory_world")

#: Tests of those files that do neither: refusals before a program starts, parsers, and settings of
#: files of their own.
SIDE_BY_SIDE = {
    "live/test_capture_block.py": {"test_completed_requests_of_every_kind_are_parsed"},
    "live/test_kernel_rights.py": {"test_a_setting_with_the_wanted_value_is_not_changed"},
    "python/test_memory_world.py": {
        "test_a_policy_that_needs_more_than_faults_is_refused_by_name",
        "test_an_unmanageable_program_is_refused_or_warned_of",
        "test_outputs_are_checked_before_the_command_starts",
        "test_unsupported_designs_are_refused_before_any_program_starts",
    },
    "python/test_run.py": {"test_a_program_that_cannot_be_paged_is_refused_with_the_reason"},
    "python/test_run_kernel.py": {"test_without_the_privilege_the_reason_is_given"},
    "python/test_run_privacy.py": {"test_only_the_user_can_list_directories_of_runs"},
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of `ALONE` but those of `SIDE_BY_SIDE`; keep tests of one file on one worker,
    as they share fixtures.
    """
    root = Path(__file__).parent
    for item in items:
        place = item.path.relative_to(root).as_posix()
        if place.startswith(ALONE) and getattr(item, "originalname", item.name) not in SIDE_BY_SIDE.get(place, ()):
            item.add_marker("alone")
        if item.config.pluginmanager.hasplugin("xdist"):
            item.add_marker(pytest.mark.xdist_group(place))
