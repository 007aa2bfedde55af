"""Measures of DR.Swap's claims in a kernel under virtual time."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from swaplab import _core
from swaplab.analysis.papers import Measured, ratio, rows_in_vm
from swaplab.core.document import figure
from swaplab.core.model import Row

KILLS, DELAY = "launches.kills", "launches.delay_ms.mean"
ENERGY = tomllib.loads((Path(__file__).parent / "energy.toml").read_text())
#: Lines of a page: a page mapped in place is taken to be read once and whole, as the kernel does
#: not count its loads.
LINES = 64
#: Sizes of swap in `vm.toml`, MiB: a quarter of the paper's.
VM_SIZES = (32, 64, 128)


def _in_vm(*designs: str) -> list[Row]:
    rows = rows_in_vm("dr-swap")
    return [rows[design] for design in designs]


def _faster(scheme: str, than: str) -> Measured:
    """Mean delay of a launch under one scheme against another's at each size."""
    ratios = [ratio(_in_vm(f"{scheme} {size}", f"{than} {size}"), DELAY, ".3f") for size in VM_SIZES]
    text = "; ".join(f"{size} MiB: {one.text}" for size, one in zip(VM_SIZES, ratios, strict=True))
    share = sum(one.is_below(1) for one in ratios) / len(ratios)
    return Measured(share, text)


def vm_switch_against_flash() -> Measured:
    return _faster("nvm-direct", "flash")


def vm_switch_against_dram() -> Measured:
    ratios = [ratio(_in_vm(f"nvm-direct {size}", f"ramdisk {size}"), DELAY, ".3f") for size in VM_SIZES]
    worst = max((100 * (one.value - 1) for one in ratios), key=abs)
    return Measured(worst, "; ".join(f"{size} MiB: {one.text}" for size, one in zip(VM_SIZES, ratios, strict=True)))


def vm_copies_removed() -> Measured:
    copied = ratio(_in_vm("nvm-direct 128", "nvm-copy 128"), "paging.copied_pages")
    return Measured(100 * (1 - copied.value), f"{100 * (1 - copied.value):.1f} % ({copied.text})", interval=copied.in_percent(-1))


def _vm_energy(row: Row, scheme: str) -> tuple[float, float]:
    """Compute the energy of the swap medium in J, in total and without background, from the row's
    counted transfers and its own time.
    """
    copied, mapped = (figure(row, f"paging.{name}") or 0.0 for name in ("copied_pages", "direct_reads"))
    written = (figure(row, "paging.swap_out_bytes") or 0.0) / 4096
    seconds = (figure(row, "time.wall_ns") or 0.0) / 1e9
    text = _core.energy("128MiB", seconds, round(copied + mapped), round(mapped), round(written), LINES, ENERGY["mode"])
    parts = json.loads(text)[scheme]
    return parts["total_j"], parts["total_j"] - parts["background_j"]


def vm_saving() -> Measured:
    designs, media = ("ramdisk 128", "nvm-copy 128", "nvm-direct 128", "flash 128"), ("dram", "nvm-direct", "nvm-direct", "flash")
    of = zip(_in_vm(*designs), media, strict=True)
    (dram, dram_moved), (copy, copy_moved), (direct, direct_moved), (_, flash_moved) = (_vm_energy(row, scheme) for row, scheme in of)
    saving = 100 * (1 - direct / dram)
    moved = ", ".join(
        f"{name} {1000 * joules:.2f}"
        for name, joules in (("DRAM", dram_moved), ("NVM copied", copy_moved), ("Direct Read", direct_moved), ("flash", flash_moved))
    )
    return Measured(saving, f"{saving:.1f} % (NVM copied {100 * (1 - copy / dram):.1f} %); transfers alone, mJ: {moved}")


def vm_kills() -> Measured:
    kills = ratio(_in_vm("nvm-direct 32", "none"), KILLS)
    return Measured(kills.value, kills.text, interval=kills.interval)


def vm_swap_ins_by_size() -> Measured:
    rows = _in_vm(*(f"flash {size}" for size in VM_SIZES))
    moved = [(figure(row, "paging.swap_in_bytes") or 0.0) / 4096 for row in rows]
    last = ratio([rows[-1], rows[0]], "paging.swap_in_bytes")
    falls = all(after < before for before, after in zip(moved, moved[1:], strict=False))
    return Measured(last.value, ", ".join(f"{pages:.0f}" for pages in moved) + f" ({last.text})", falls, last.interval)
