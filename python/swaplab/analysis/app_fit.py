"""Models of apps fitted to captures of their launch and resumes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from swaplab import _core
from swaplab.core import experiment as experiments
from swaplab.core.bases import TolerantModel
from swaplab.core.model import AppModels, Design, Experiment, Machine, Run, Workload


class UsedPages(TolerantModel):
    """Pages of 4 KiB that a launch or a resume used."""

    anon: int
    file: int
    written: int


class Shares(TolerantModel):
    """Shares of an app's pages, as defined in crates/sim/src/fit/capture.rs."""

    resume_share: float
    warm_share: float
    warm_probability: float
    file_hot_share: float
    write_share: float


class FitError(TolerantModel):
    """Relative errors of the prediction of the last resume; `held_out`: it was excluded from the
    fit.
    """

    held_out: bool
    anon: float
    file: float
    written: float
    hot_used: float
    known: float


class CapturedApp(TolerantModel):
    """A captured app."""

    name: str
    content_hash: str | None
    anon_pages: int
    file_pages: int
    launch: UsedPages
    resumes: list[UsedPages]
    shares: Shares
    error: FitError


class AppFit(TolerantModel):
    """Captured apps, smallest first, and the models fitted to them."""

    document: Literal["app-fit"] = "app-fit"
    kind: Literal["measured"] = "measured"
    captures: list[CapturedApp]
    apps: AppModels


def app_fit(traces: list[Path], reading: str, listener: Callable[[int, int], None] | None = None) -> AppFit:
    """Fit app models to captures. Raises BadInput for a trace without labels."""
    return AppFit.model_validate_json(_core.app_model(traces, reading, listener))


def app_experiment(fit: AppFit) -> Experiment:
    """Build a runnable experiment: A2S' small workload with the fitted apps, without swap and with
    flash swap.
    """
    return experiments.resolve(
        Experiment(
            name="fitted apps",
            machine=Machine(base="nexus-5", dram="1536MiB"),
            design=[Design(name="no swap", swap="none"), Design(name="flash swap", swap="flash:size=1024MiB")],
            workload=Workload(launches="small", apps=fit.apps),
            run=Run(on=["phone"], seeds=1),
        )
    )


def about_capture(capture: CapturedApp) -> list[str]:
    """Describe a captured app in lines of text: sizes in pages of 4 KiB, shares, and the fit's
    error.
    """
    shares, error, resumes = capture.shares, capture.error, capture.resumes
    condition = "without the last resume, it" if error.held_out else "IN SAMPLE, as there is one resume: it"
    anon, file = (sum(getattr(resume, key) for resume in resumes) / max(len(resumes), 1) for key in ("anon", "file"))
    return [
        f"{capture.name}: holds {capture.anon_pages:,} anonymous and {capture.file_pages:,} file pages",
        f"  launch set {capture.launch.anon:,} + {capture.launch.file:,} pages; "
        f"{len(resumes)} resumes of {anon:,.0f} + {file:,.0f} pages each",
        f"  resume share {shares.resume_share:.3f}, warm {shares.warm_share:.3f} at {shares.warm_probability:.3f}, "
        f"hot file share {shares.file_hot_share:.3f}, write share {shares.write_share:.3f}",
        f"  fit's error: {condition} predicts {error.anon:+.1%} of its anonymous, {error.file:+.1%} of its file pages, "
        f"{error.written:+.1%} of its writes; {error.hot_used:.1%} of the hot pages were used, {error.known:.1%} of the used ones known",
    ]
