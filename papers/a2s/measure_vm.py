"""Measures of A2S' claims in a kernel under virtual time."""

from __future__ import annotations

from swaplab.analysis.papers import Measured, ratio, rows_in_vm
from swaplab.core.model import Row

NONE, VANILLA, A2S = "no swap", "vanilla flash swap", "A2S"
RESUMES, IN, OUT = "launches.resumes", "paging.swap_in_bytes", "paging.swap_out_bytes"


def _in_vm(*designs: str) -> list[Row]:
    rows = rows_in_vm("a2s")
    return [rows[design] for design in designs]


def _vm_less(path: str) -> Measured:
    moved = ratio(_in_vm(A2S, VANILLA), path)
    return Measured(100 * (1 - moved.value), f"{100 * (1 - moved.value):.1f} % ({moved.text})", interval=moved.in_percent(-1))


def vm_in_less() -> Measured:
    return _vm_less(IN)


def vm_out_less() -> Measured:
    return _vm_less(OUT)


def _vm_gain(design: str) -> Measured:
    resumes = ratio(_in_vm(design, NONE), RESUMES, ".3f")
    return Measured(100 * (resumes.value - 1), f"{100 * (resumes.value - 1):+.1f} % ({resumes.text})", interval=resumes.in_percent(1))


def vm_vanilla_gain() -> Measured:
    return _vm_gain(VANILLA)


def vm_a2s_gain() -> Measured:
    return _vm_gain(A2S)


def _vm_delay(design: str, than: str) -> Measured:
    delay = ratio(_in_vm(design, than), "launches.delay_ms.mean")
    return Measured(delay.value, delay.text, interval=delay.interval)


def vm_vanilla_delay() -> Measured:
    return _vm_delay(VANILLA, NONE)


def vm_a2s_delay() -> Measured:
    return _vm_delay(A2S, NONE)


def vm_a2s_delay_to_vanilla() -> Measured:
    return _vm_delay(A2S, VANILLA)
