"""Measures of DR.Swap's claims about switch delays (Fig. 8, Table V), on the simulated phone. The
paper emulates PCM as 2 times DRAM's reads and 12 times its writes (Section V-A, device
`pcm-nvsim`); Table II's device is reported besides. Intervals are over workloads."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

from swaplab.analysis.papers import Measured, interval_text, rows_of
from swaplab.analysis.papers_users import mean_over_items
from swaplab.core import experiment as experiments
from swaplab.core.document import figure
from swaplab.core.model import Row

HERE = Path(__file__).parent
SIZES = (128, 256, 512)
WORKLOADS = ("browser", "news", "multimedia", "social", "gaming", "shopping", "mix1", "mix2")
DRAM, DIRECT, FLASH = "ramdisk", "nvm-direct", "flash"
WHEN_FULL = ", killer when swap is full"
EMULATED = "pcm-nvsim"

Rows = dict[str, Row]
#: By workload: a delay, or a figure made from delays, at each size.
BySize = dict[str, list[float]]


@cache
def _phone(nvm: str = "") -> dict[str, Rows]:
    """By workload: rows by design; with another NVM if given, which only the designs with NVM are
    run with.
    """
    found = {}
    for name in WORKLOADS:
        wanted = experiments.read(HERE / "experiment.toml", [f"workload.apps.kinds={name}"])
        found[name] = rows_of(wanted)
        if nvm:
            other = experiments.read(HERE / "experiment.toml", [f"workload.apps.kinds={name}", f"machine.devices.nvm={nvm}"])
            kept = [design for design in other.design if design.name.startswith(DIRECT)]
            found[name] = found[name] | rows_of(other.model_copy(update={"design": kept}))
    return found


def _delay(row: Row) -> float:
    """Mean delay of a launch in ms; an app that was killed is switched to as well, as in the
    protocol.
    """
    delay = figure(row, "launches.delay_ms.mean")
    assert delay is not None
    return delay


def _percent_faster(than: str, nvm: str = "", killer: str = "") -> BySize:
    """Percent by which DR.Swap is faster, at the sizes at which flash swaps in."""
    found: BySize = {}
    for name, rows in _phone(nvm).items():
        for size in SIZES:
            at = {key: rows[f"{key} {size}{killer}"] for key in (DRAM, DIRECT, FLASH)}
            if figure(at[FLASH], "paging.swap_in_bytes"):
                found.setdefault(name, []).append(100 * (1 - _delay(at[DIRECT]) / _delay(at[than])))
    return found


def _points(gains: BySize, of: Callable[[float], bool]) -> tuple[int, int]:
    every = [gain for each in gains.values() for gain in each]
    return sum(of(gain) for gain in every), len(every)


def _against_flash(nvm: str = "", killer: str = "") -> Measured:
    """The share of points at which DR.Swap is faster than flash."""
    gains = _percent_faster(FLASH, nvm, killer)
    faster, points = _points(gains, lambda gain: gain > 0)
    return Measured(faster / points, f"faster at {faster} of {points} points", n=len(gains))


def switch_against_flash() -> Measured:
    return _against_flash()


def switch_against_flash_emulated() -> Measured:
    return _against_flash(EMULATED)


def switch_against_flash_when_full() -> Measured:
    return _against_flash(EMULATED, WHEN_FULL)


def _mean_by_workload(gains: BySize) -> dict[str, float]:
    return {name: sum(each) / len(each) for name, each in gains.items()}


def _gain(nvm: str, killer: str = "") -> Measured:
    means = _mean_by_workload(_percent_faster(FLASH, nvm, killer))
    value, sure = mean_over_items(means)
    each = ", ".join(f"{name} {gain:.0f}" for name, gain in means.items())
    return Measured(value, f"{value:+.1f} % ({interval_text(sure, '+.1f')}; {each})", interval=sure)


def switch_gain_emulated() -> Measured:
    return _gain(EMULATED)


def switch_gain_when_full() -> Measured:
    return _gain(EMULATED, WHEN_FULL)


def browsers_gain() -> Measured:
    gain = _mean_by_workload(_percent_faster(FLASH, EMULATED))["browser"]
    return Measured(gain, f"{gain:+.1f} %", n=1)


def _news(killer: str = "") -> Measured:
    """News' gain less the smallest gain of the other categories, in percentage points."""
    means = _mean_by_workload(_percent_faster(FLASH, EMULATED, killer))
    news = means.pop("news")
    least = min(means, key=lambda name: means[name])
    return Measured(news - means[least], f"news {news:+.1f} %, next {least} {means[least]:+.1f} %")


def news_gains_least() -> Measured:
    return _news()


def news_gains_least_when_full() -> Measured:
    return _news(WHEN_FULL)


def _against_dram(nvm: str = "", killer: str = "") -> Measured:
    """The largest difference of a workload's mean over sizes from DRAM swap's, in percent."""
    slower = {name: -gain for name, gain in _mean_by_workload(_percent_faster(DRAM, nvm, killer)).items()}
    worst = max(slower, key=lambda name: abs(slower[name]))
    mean, sure = mean_over_items(slower)
    return Measured(slower[worst], f"{slower[worst]:+.1f} % at most ({worst}), {mean:+.1f} % on average ({interval_text(sure, '+.1f')})")


def switch_against_dram() -> Measured:
    return _against_dram()


def switch_against_dram_emulated() -> Measured:
    return _against_dram(EMULATED)


def switch_against_dram_when_full() -> Measured:
    return _against_dram(EMULATED, WHEN_FULL)


def _at_times_faster_than_dram(killer: str = "") -> Measured:
    """The share of points at which DR.Swap is faster than DRAM swap."""
    faster, points = _points(_percent_faster(DRAM, EMULATED, killer), lambda gain: gain > 0)
    return Measured(faster / points, f"{faster} of {points} points")


def at_times_faster_than_dram() -> Measured:
    return _at_times_faster_than_dram()


def at_times_faster_than_dram_when_full() -> Measured:
    return _at_times_faster_than_dram(WHEN_FULL)


def _kills(design: str) -> float:
    return sum(figure(rows[design], "launches.kills") or 0.0 for rows in _phone(EMULATED).values())


def full_then_killer() -> Measured:
    """The share of workloads whose NVM of 128 MB was full among those with a kill, by the killer of
    the text.
    """
    rows = {name: each[f"{DIRECT} 128{WHEN_FULL}"] for name, each in _phone(EMULATED).items()}
    killed = {name: row for name, row in rows.items() if figure(row, "launches.kills")}
    full = [name for name, row in killed.items() if figure(row, "paging.swap_full")]
    kills = [_kills(f"{DIRECT} {size}{WHEN_FULL}") for size in SIZES]
    text = f"{len(full)} of {len(killed)} workloads; kills {', '.join(f'{count:.0f}' for count in kills)} with 128, 256, 512 MB"
    return Measured(len(full) / len(killed) if killed else 0.0, text)


def kills_before_nvm_is_full() -> Measured:
    """Kills with 512 MB of NVM under minfree, in workloads in which it was never full: the text has
    none.
    """
    rows = [each[f"{DIRECT} 512"] for each in _phone(EMULATED).values()]
    kills = sum(figure(row, "launches.kills") or 0.0 for row in rows if not figure(row, "paging.swap_full"))
    return Measured(kills, f"{kills:.1f} kills with NVM never full")
