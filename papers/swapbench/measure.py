"""Measures of SwapBench's claims on the simulated phone, and in a kernel under virtual time: orderings of switch delays and kills by scheme
and size of swap."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import polars as pl
from swaplab.analysis.papers import Measured, interval, ratio, rows_in_vm, rows_of
from swaplab.core import experiment as experiments
from swaplab.core.model import LaunchFigures, Row
from swaplab.worlds import run as run_experiment
from swaplab.worlds.result import Options

EXPERIMENT = Path(__file__).parent / "experiment.toml"
#: Schemes by SwapBench's names for them, at 512 MB.
SCHEMES = {
    "none": "none",
    "flash": "flash:size=512MiB",
    "sd-card": "sd-card:size=512MiB",
    "ramdisk": "ramdisk:size=512MiB",
    "zram": "zram:size=512MiB",
    "nvm": "nvm-copy:size=512MiB",
    "nvm-direct": "nvm-direct:size=512MiB",
}
FLASH_MIB = (64, 128, 256, 512)
#: Categories of five apps, by `swaplab list apps`.
CATEGORIES = {
    "Browser": "browser",
    "News": "news",
    "Multimedia": "multimedia",
    "Social networking": "social",
    "Gaming": "gaming",
    "Online shopping": "shopping",
}


#: Block devices read as many pages a swap-in as memory does, and as a microbenchmark does: one.
ONE_PAGE = ["machine.kernel.page_cluster=0"]


@cache
def _rows() -> dict[str, Row]:
    """Rows by scheme's name; `flash 64` is 64 MB of flash."""
    by_swap = {row.swap: row for row in rows_of(experiments.read(EXPERIMENT)).values()}
    return {name: by_swap[swap] for name, swap in SCHEMES.items()} | {
        f"flash {size}": by_swap[f"flash:size={size}MiB"] for size in FLASH_MIB
    }


def _of(row: Row) -> LaunchFigures:
    assert row.launches is not None
    return row.launches


def _switch(scheme: str) -> float:
    """Mean resume delay in ms; a scheme under which nobody is switched to has none, and the comparison would be void."""
    resumes = _of(_rows()[scheme]).resume_ms
    assert resumes is not None, scheme
    return resumes.mean


def _delay(row: Row) -> float:
    delay = _of(row).delay_ms
    assert delay is not None
    return delay.mean


def kills_with_64_mb() -> Measured:
    without, with_swap = (_of(_rows()[name]).kills for name in ("none", "flash 64"))
    sure = interval([_rows()["flash 64"], _rows()["none"]], lambda swap, none: swap("launches.kills") / none("launches.kills"), ".2f")
    text = f"{without:.1f} to {with_swap:.1f} ({with_swap / without:.2f} times; {sure})"
    return Measured(with_swap / without, text, with_swap < without)


def kills_fall_with_size() -> Measured:
    kills = [_of(_rows()[f"flash {size}"]).kills for size in FLASH_MIB]
    steps = [after <= before for before, after in zip(kills, kills[1:], strict=False)]
    return Measured(sum(steps) / len(steps), ", ".join(f"{value:.1f}" for value in kills), kills[-1] < kills[0])


def sd_card_over_flash() -> Measured:
    ratio = _switch("sd-card") / _switch("flash")
    return Measured(ratio, f"{ratio:.3f} times ({_switch('sd-card'):.0f} for {_switch('flash'):.0f} ms)", ratio > 1)


def flash_over_none() -> Measured:
    times = [_delay(_rows()[name]) for name in ("flash", "none")]
    sure = interval(
        [_rows()["flash"], _rows()["none"]], lambda swap, none: swap("launches.delay_ms.mean") / none("launches.delay_ms.mean"), ".3f"
    )
    text = f"{times[0] / times[1]:.3f} times ({times[0]:.0f} for {times[1]:.0f} ms; {sure})"
    return Measured(times[0] / times[1], text, times[0] > times[1])


def order_of_media() -> Measured:
    names = ("nvm-direct", "nvm", "ramdisk", "flash", "sd-card")
    times = [_switch(name) for name in names]
    steps = [after >= before for before, after in zip(times, times[1:], strict=False)]
    text = ", ".join(f"{name} {time:.1f}" for name, time in zip(names, times, strict=True)) + " ms"
    return Measured(sum(steps) / len(steps), text, times[0] < times[-1])


def zram_over_flash() -> Measured:
    ratio = _switch("zram") / _switch("flash")
    return Measured(ratio, f"{ratio:.3f} times ({_switch('zram'):.0f} for {_switch('flash'):.0f} ms)", ratio < 1)


def cold_launches() -> Measured:
    cold = {name: (_of(_rows()[name]).cold, _of(_rows()[name]).cold_ms) for name in SCHEMES}
    text = ", ".join(f"{name} {count:.1f} of {spread.mean:.0f} ms" for name, (count, spread) in cold.items() if spread is not None)
    spread = cold["flash"][1]
    assert spread is not None
    return Measured(spread.mean, text)


def categories() -> Measured:
    found = {}
    for category, kinds in CATEGORIES.items():
        changes = [f"workload.apps.kinds={kinds}", "workload.launches=round-robin:apps=5,rounds=3,foreground=60"]
        wanted = experiments.read(EXPERIMENT, changes)
        designs = [design for design in wanted.design if design.swap == SCHEMES["flash"]]
        (row,) = rows_of(wanted.model_copy(update={"design": designs})).values()
        resumes = _of(row).resume_ms
        found[category] = resumes.mean if resumes is not None else 0.0
    return Measured(max(found.values()), ", ".join(f"{category} {time:.0f}" for category, time in found.items()) + " ms")


def io_of_schemes() -> Measured:
    moved = {}
    for name in SCHEMES:
        paging = _rows()[name].paging
        moved[name] = sum(size or 0.0 for size in (paging.file_read_bytes, paging.swap_in_bytes, paging.swap_out_bytes)) / 1e6
    return Measured(moved["flash"], ", ".join(f"{name} {value:.0f}" for name, value in moved.items()) + " MB of files and swap")


@cache
def _launches() -> pl.DataFrame:
    """Every launch with the parts of its time, with the scheme's text, under the schemes that move the same pages, none read ahead."""
    wanted = experiments.read(EXPERIMENT, ONE_PAGE)
    schemes = [SCHEMES[name] for name in ("flash", "ramdisk", "nvm")]
    designs = [design for design in wanted.design if design.swap in schemes]
    found = run_experiment(wanted.model_copy(update={"design": designs}), Options(tables=True), place="swapbench")
    swaps = {row.design: row.swap for row in found.document.rows}
    return found.tables["launches"].with_columns(swap=pl.col("design").replace_strict(swaps))


def _sum(scheme: str, column: str) -> int:
    return int(_launches().filter(swap=SCHEMES[scheme])[column].sum())


def fake_io_path() -> Measured:
    each = {name: _sum(name, "fault_cpu_ns") / _sum(name, "faults") for name in ("ramdisk", "nvm")}
    ratio = each["ramdisk"] / each["nvm"]
    return Measured(ratio, f"{each['ramdisk'] / 1e3:.2f} for {each['nvm'] / 1e3:.2f} us of processor a fault")


def calibration() -> Measured:
    """The microbenchmark is a replay: two pages that take turns in one frame, so that every reference reads swap."""
    with tempfile.TemporaryDirectory(prefix="swaplab-") as folder:
        trace = Path(folder) / "t.csv"
        trace.write_text("page,op\n" + "1,R\n2,R\n" * 50)
        replay = {"swap_device": experiments.read(EXPERIMENT).machine.devices.flash, "first_touch": "charged"}
        wanted = experiments.build(
            machine={"dram": "1p"}, design=[{"policy": "lru"}], workload={"trace": str(trace)}, run={"on": ["replay"], "replay": replay}
        )
        (row,) = rows_of(wanted).values()
    assert row.time.swap_read_ns is not None and row.paging.swap_reads
    each = row.time.swap_read_ns / row.paging.swap_reads
    ours = _sum("flash", "swap_read_flash_ns") / _sum("flash", "swapped_in")
    return Measured(ours / each, f"{ours / 1e3:.2f} for {each / 1e3:.2f} us a page")


def _in_vm(*designs: str) -> list[Row]:
    rows = rows_in_vm("swapbench")
    return [rows[design] for design in designs]


def vm_kills_with_swap() -> Measured:
    kills = ratio(_in_vm("flash 16", "none"), "launches.kills")
    return Measured(kills.value, kills.text, kills.is_below(1))


def vm_kills_fall_with_size() -> Measured:
    kills = [_of(row).kills for row in _in_vm("flash 16", "flash 32", "flash 64", "flash")]
    steps = [after <= before for before, after in zip(kills, kills[1:], strict=False)]
    return Measured(sum(steps) / len(steps), ", ".join(f"{value:.1f}" for value in kills), kills[-1] < kills[0])


def vm_flash_over_none() -> Measured:
    delay = ratio(_in_vm("flash", "none"), "launches.delay_ms.mean")
    return Measured(delay.value, delay.text)


def vm_zram_over_flash() -> Measured:
    delay = ratio(_in_vm("zram", "flash"), "launches.delay_ms.mean")
    return Measured(delay.value, delay.text)


def vm_order_of_media() -> Measured:
    names = ("nvm", "ramdisk", "flash")
    times = [_delay(row) for row in _in_vm(*names)]
    steps = [after >= before for before, after in zip(times, times[1:], strict=False)]
    text = ", ".join(f"{name} {time:.1f}" for name, time in zip(names, times, strict=True)) + " ms"
    return Measured(sum(steps) / len(steps), text, times[0] < times[-1])
