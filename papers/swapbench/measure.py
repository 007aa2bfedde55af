"""Measures of SwapBench's claims on the simulated phone: orderings of switch delays and kills by
scheme and size of swap.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import polars as pl
from swaplab.analysis.papers import Measured, interval_text, ratio, rows_of
from swaplab.analysis.papers_users import Users, over, users_of
from swaplab.core import experiment as experiments
from swaplab.core.model import LaunchFigures, Row

EXPERIMENT = Path(__file__).parent / "experiment.toml"
#: Designs by SwapBench's names for their schemes, at 512 MB.
SCHEMES = {
    "none": "none",
    "flash": "flash 512",
    "sd-card": "sd-card 512",
    "ramdisk": "ramdisk 512",
    "zram": "zram 512",
    "nvm": "nvm-copy 512",
    "nvm-direct": "nvm-direct 512",
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
    rows = rows_of(experiments.read(EXPERIMENT))
    return rows | {name: rows[design] for name, design in SCHEMES.items()}


def _of(row: Row) -> LaunchFigures:
    assert row.launches is not None
    return row.launches


def _switch(scheme: str) -> float:
    """Mean resume delay in ms; a scheme under which nobody is switched to has none, and the
    comparison would be void.
    """
    resumes = _of(_rows()[scheme]).resume_ms
    assert resumes is not None, scheme
    return resumes.mean


def _delay(row: Row) -> float:
    delay = _of(row).delay_ms
    assert delay is not None
    return delay.mean


def _kills(flash: str) -> Measured:
    rows = [_rows()[flash], _rows()["none"]]
    kills = ratio(rows, "launches.kills")
    counts = f"{_of(rows[1]).kills:.1f} to {_of(rows[0]).kills:.1f}"
    return Measured(kills.value, f"{counts} ({kills.text})", interval=kills.interval)


def kills_with_64_mb() -> Measured:
    return _kills("flash 64")


def kills_with_64_mb_when_full() -> Measured:
    return _kills("flash 64, killer when swap is full")


def kills_fall_with_size() -> Measured:
    """The value is the share of steps without a rise. It holds if the last size has fewer kills
    than the first, by the interval.
    """
    kills = [_of(_rows()[f"flash {size}"]).kills for size in FLASH_MIB]
    steps = [after <= before for before, after in zip(kills, kills[1:], strict=False)]
    text = ", ".join(f"{value:.1f}" for value in kills)
    fewer = ratio([_rows()["flash 512"], _rows()["flash 64"]], "launches.kills")
    return Measured(sum(steps) / len(steps), f"{text} ({fewer.text})", fewer.is_below(1))


def _resume_ms(users: Users, scheme: str) -> float:
    """Mean delay of a resume over all users."""
    resumes = [row.resume_ms for user in users if (row := _of(user.rows[scheme])).resume_ms is not None]
    return sum(each.mean * each.n for each in resumes if each is not None) / sum(each.n for each in resumes if each is not None)


def _switches() -> Users:
    """Every user under each scheme at 512 MB."""
    wanted = experiments.read(EXPERIMENT)
    kept = [design for design in wanted.design if design.name in SCHEMES.values()]
    return users_of(wanted.model_copy(update={"design": kept}))


def _switch_ratio(scheme: str, than: str) -> Measured:
    value, sure = over(_switches(), lambda users: _resume_ms(users, SCHEMES[scheme]) / _resume_ms(users, SCHEMES[than]))
    text = f"{value:.3f} times ({_switch(scheme):.0f} for {_switch(than):.0f} ms; {interval_text(sure, '.3f')})"
    return Measured(value, text, interval=sure)


def sd_card_over_flash() -> Measured:
    return _switch_ratio("sd-card", "flash")


def _slower(flash: str) -> Measured:
    times = ratio([_rows()[flash], _rows()["none"]], "launches.delay_ms.mean", ".3f")
    delays = [_delay(_rows()[name]) for name in (flash, "none")]
    return Measured(times.value, f"{times.text} ({delays[0]:.0f} for {delays[1]:.0f} ms)", interval=times.interval)


def flash_over_none() -> Measured:
    return _slower("flash")


def flash_over_none_when_full() -> Measured:
    return _slower("flash 512, killer when swap is full")


def order_of_media() -> Measured:
    """The value is the share of steps in that order whose interval is below one."""
    names = ("nvm-direct", "nvm", "ramdisk", "flash", "sd-card")
    steps = [_switch_ratio(before, after).interval for before, after in zip(names, names[1:], strict=False)]
    apart = sum(step is not None and step.high < 1 for step in steps)
    text = ", ".join(f"{name} {_switch(name):.1f}" for name in names) + f" ms; {apart} of {len(steps)} steps separated"
    return Measured(apart / len(steps), text)


def zram_over_flash() -> Measured:
    return _switch_ratio("zram", "flash")


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
        designs = [design for design in wanted.design if design.name == SCHEMES["flash"]]
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
    """Every launch with the parts of its time, with the scheme's text, under the schemes that move
    the same pages, none read ahead.
    """
    wanted = experiments.read(EXPERIMENT, ONE_PAGE)
    schemes = [SCHEMES[name] for name in ("flash", "ramdisk", "nvm")]
    designs = [design for design in wanted.design if design.name in schemes]
    return pl.concat([user.launches for user in users_of(wanted.model_copy(update={"design": designs}))])


def _sum(scheme: str, column: str) -> int:
    return int(_launches().filter(design=SCHEMES[scheme])[column].sum())


def fake_io_path() -> Measured:
    each = {name: _sum(name, "fault_cpu_ns") / _sum(name, "faults") for name in ("ramdisk", "nvm")}
    ratio = each["ramdisk"] / each["nvm"]
    return Measured(ratio, f"{each['ramdisk'] / 1e3:.2f} for {each['nvm'] / 1e3:.2f} us of processor a fault")


def calibration() -> Measured:
    """The microbenchmark is a replay: two pages that take turns in one frame, so that every
    reference reads swap.
    """
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
