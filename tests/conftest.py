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
ALONE = ("live/", "python/test_run")

#: Tests of those files that do neither: refusals before a program starts, parsers, settings of
#: files of their own, and programs under the pager of which no budget is asserted. The latter also
#: pass where the program and its pager together get a third of a core.
SIDE_BY_SIDE = {
    "live/test_capture_block.py": {"test_completed_requests_of_every_kind_are_parsed"},
    "live/test_kernel_rights.py": {"test_a_setting_with_the_wanted_value_is_not_changed"},
    "python/test_run.py": {
        "test_a_full_store_loses_nothing",
        "test_a_program_that_cannot_be_paged_is_refused_with_the_reason",
        "test_exit_codes_signals_and_nothing_left_behind",
        "test_four_threads_lose_no_write",
        "test_node_and_a_compiler",
        "test_pages_of_one_instruction_do_not_evict_each_other_forever_with_a_full_store",
        "test_python_runs_its_own_tests",
        "test_redis_keeps_every_value_also_in_the_dump_of_its_child",
        "test_signals_to_exec_reach_the_program",
        "test_sqlite_on_a_quarter_to_three_quarters",
    },
    "python/test_run_fork.py": {"test_an_allocator_with_fork_handlers_of_its_own_is_no_deadlock"},
    "python/test_run_kernel.py": {
        "test_a_full_disk_loses_nothing",
        "test_a_killed_program_leaves_no_file",
        "test_a_program_that_drops_its_privileges_is_still_paged",
        "test_a_store_truncated_by_another_process_ends_the_program",
        "test_pinned_buffers_and_memory_with_huge_pages_are_kept",
        "test_without_the_privilege_the_reason_is_given",
    },
    "python/test_run_privacy.py": {"test_only_the_user_can_list_directories_of_runs"},
    "python/test_run_record.py": {"test_a_record_is_a_valid_trace"},
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
