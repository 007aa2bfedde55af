"""Measures of SwapBench's claims in a kernel under virtual time."""

from __future__ import annotations

from swaplab.analysis.papers import Measured, ratio, rows_in_vm
from swaplab.core.document import figure
from swaplab.core.model import Row


def _value(row: Row, path: str) -> float:
    value = figure(row, path)
    assert value is not None, path
    return value


def _in_vm(*designs: str) -> list[Row]:
    rows = rows_in_vm("swapbench")
    return [rows[design] for design in designs]


def vm_kills_with_swap() -> Measured:
    kills = ratio(_in_vm("flash 16", "none"), "launches.kills")
    return Measured(kills.value, kills.text, interval=kills.interval)


def vm_kills_fall_with_size() -> Measured:
    kills = [_value(row, "launches.kills") for row in _in_vm("flash 16", "flash 32", "flash 64", "flash")]
    steps = [after <= before for before, after in zip(kills, kills[1:], strict=False)]
    fewer = ratio(_in_vm("flash", "flash 16"), "launches.kills")
    return Measured(sum(steps) / len(steps), ", ".join(f"{value:.1f}" for value in kills) + f" ({fewer.text})", fewer.is_below(1))


def vm_flash_over_none() -> Measured:
    delay = ratio(_in_vm("flash", "none"), "launches.delay_ms.mean")
    return Measured(delay.value, delay.text, interval=delay.interval)


def vm_zram_over_flash() -> Measured:
    delay = ratio(_in_vm("zram", "flash"), "launches.delay_ms.mean")
    return Measured(delay.value, delay.text, interval=delay.interval)


def vm_order_of_media() -> Measured:
    names = ("nvm", "ramdisk", "flash")
    times = [_value(row, "launches.delay_ms.mean") for row in _in_vm(*names)]
    steps = [after >= before for before, after in zip(times, times[1:], strict=False)]
    text = ", ".join(f"{name} {time:.1f}" for name, time in zip(names, times, strict=True)) + " ms"
    return Measured(sum(steps) / len(steps), text, times[0] < times[-1])
