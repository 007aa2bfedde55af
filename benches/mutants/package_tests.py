"""Which tests are run for a mutant of the Python package: the files that test its module.

The whole suite would take minutes a mutant. So a share caught is that of these files alone; others
may detect further mutants.
"""

from __future__ import annotations

from pathlib import PurePath

#: Names of tests in these files that are left out: slow ones of which faster ones test the same
#: code, and those that compile a policy.
LEFT_OUT = [
    "a_panic_is_one_line", "a_preset_runs_without_changes", "a_signal_before_the_start", "completion_offers", "ctrl_c",
    "fault_only_plug_in", "help_lists_every_option", "in_a_browser", "library_that_breaks", "lru_as_a_plug_in", "mrc_and_sweep_take",
    "reach_a_plug_in", "the_command_and_python", "unusable_library",
]  # fmt: skip

#: Test files by module. The modules of a folder share those of the folder.
TESTS = {
    "core": {
        "document": ["document", "compare", "api", "rerun"],
        "errors": ["bad_input"],
        "experiment": ["experiments", "trace_locations", "bad_input"],
        "files": ["files", "bad_input"],
        "launch_list": ["advise"],
        "limits": ["limits"],
        "memory_samples": ["advise_samples"],
        "policy": ["plugins"],
        "presets": ["presets"],
        "registry": ["presets", "kernel_world"],
        "signals": ["signals", "forwarded_signals"],
        "statistics": ["statistics", "verdict", "validation", "compare"],
        "trace": ["api", "trace_locations"],
    },
    "analysis": {
        "ablation": ["papers"],
        "advise": ["advise"],
        "app_fit": ["fit", "trace_model"],
        "compare": ["compare"],
        "explain": ["worst_launches", "phone_report"],
        "fit": ["fit"],
        "memory_samples": ["advise_samples"],
        "outcomes": ["verdict", "compare", "phone_report", "papers"],
        "papers": ["papers", "papers_readme"],
        "papers_in_vm": ["papers", "papers_readme"],
        "papers_published": ["papers"],
        "papers_readme": ["papers_readme"],
        "papers_users": ["papers"],
        "papers_verdict": ["papers"],
        "plan": ["plan"],
        "recommend": ["recommend"],
        "registry": ["registry", "report", "report_figures"],
        "relative": ["report", "compare", "report_figures"],
        "rerun": ["rerun"],
        "results": ["media_reports", "compare", "report"],
        "sensitivity": ["papers"],
        "side_by_side": ["compare", "report_figures"],
        "verdict": ["verdict", "report"],
    },
}


def tests_of(path: str) -> tuple[str, ...]:
    """Return the test files of a module of the package, by their paths."""
    package, name, *_ = PurePath(path).with_suffix("").relative_to("python/swaplab").parts
    return tuple(f"tests/python/test_{name}.py" for name in TESTS[package].get(name, ["api"]))
