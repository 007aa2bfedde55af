"""The provenance of a document's figures (traces, launches, devices, the measuring machine), and
the labels of rows in tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from swaplab.analysis.outcomes import MIB
from swaplab.analysis.registry import text_of
from swaplab.analysis.verdict import number
from swaplab.core.model import Document, Host, Input, Kind, Memory, Row


@dataclass(frozen=True)
class LabeledRow:
    """A row with its label in tables and figures."""

    label: str
    row: Row


def labeled(rows: Sequence[Row]) -> list[LabeledRow]:
    """Label each row with its design, the varied keys of its point, and its kind if kinds
    differ.
    """
    kinds = {row.kind for row in rows}
    varied = {key for row in rows for key in row.point if len({str(other.point.get(key)) for other in rows}) > 1}
    entries = []
    for row in rows:
        where = ", ".join(f"{key.rsplit('.', 1)[-1]} {value}" for key, value in row.point.items() if key in varied)
        label = f"{row.design}, {where}" if where else row.design
        entries.append(LabeledRow(f"{label} ({row.kind})" if len(kinds) > 1 else label, row))
    return entries


def kinds_of(rows: Sequence[Row]) -> list[Kind]:
    return list(dict.fromkeys(row.kind for row in rows))


def mixed_kinds(rows: Sequence[Row]) -> list[str]:
    """Return the note that a section with rows of several kinds must have; empty for one kind."""
    kinds = kinds_of(rows)
    if len(kinds) < 2:
        return []
    reminder = "an emulated medium is an upper bound, not a measurement" if "emulated" in kinds else "a model is not a measurement"
    return [f"Rows are of different kinds ({', '.join(kinds)}), and each is marked: {reminder}."]


def memory_text(memory: Memory) -> str:
    """Describe the memory that a design used: `DRAM 64 MiB, additional pool 12 MiB`."""
    parts = {
        "DRAM": memory.dram_bytes,
        "additional pool": memory.pool_bytes,
        "tables": memory.metadata_bytes,
        "NVM": memory.nvm_bytes,
        "flash": memory.flash_bytes,
    }
    return ", ".join(f"{name} {number(size / MIB)} MiB" for name, size in parts.items() if size)


def workload_name(row: Row) -> str:
    """Return the workload without the folders of its path."""
    return row.workload.rsplit("/", 1)[-1]


def origin(document: Document, rows: Sequence[Row]) -> list[tuple[str, str]]:
    """List the provenance of the rows, from the document alone."""
    machine, lines = document.experiment.machine, []
    for source in document.inputs:
        lines += input_lines(source)
    is_measured = any(row.kind in ("measured", "emulated") for row in rows)
    if document.machine is not None:
        lines += host(document.machine)
    if not is_measured:
        devices = {medium: use.device for row in rows for medium, use in row.media.items() if use.device}
        lines += [(f"{medium} device", device) for medium, device in devices.items()]
        policies = dict.fromkeys(text_of(machine.kernel.policy) or "" if row.policy == "system" else row.policy for row in rows)
        lines.append(("page policy", ", ".join(policies)))
    replay = next((row.replay for row in rows if row.replay is not None), None)
    if replay is not None:
        lines.append(("first touch", replay.first_touch))
        if any(row.swap is None for row in rows):
            lines.append(("swap device", f"read {replay.swap_read_ns:,} ns, write {replay.swap_write_ns:,} ns a page"))
        lines.append(("file device", f"read {replay.file_read_ns:,} ns, write {replay.file_write_ns:,} ns a page"))
    lines.append(("first seed", str(rows[0].seed)))
    lines += [(name, version) for name, version in document.versions.items()]
    return [(name, text) for name, text in lines if text]


def input_lines(source: Input) -> list[tuple[str, str]]:
    """Describe an input file: name, path, contents, hash."""
    lines = [
        (source.kind or "input", source.name or source.path),
        (f"{source.kind or 'input'} file", source.path if source.name != source.path else ""),
    ]
    if source.trace is not None:
        facts = source.trace
        lines.append(
            ("references", f"{facts.references:,}" + (f" of {facts.raw_references:,} before the filter" if facts.raw_references else ""))
        )
        lines.append(("footprint", f"{facts.footprint_pages:,} pages of {facts.page_bytes:,} bytes"))
    lines.append((f"SHA-256 of the {source.kind or 'input'}", source.content_hash.removeprefix("sha256:")))
    return [(name, text) for name, text in lines if text]


def host(machine: Host) -> list[tuple[str, str]]:
    """Describe the measuring machine: kernel, processor, memory, disk, user, rates."""
    processors = f"{machine.processor} ({machine.processors} processors)" if machine.processors else machine.processor
    lines = [
        ("target", machine.target),
        ("kernel", machine.kernel),
        ("processor", processors),
        ("memory", f"{number(machine.memory_bytes / 2**30)} GiB" if machine.memory_bytes else ""),
        ("disk", machine.disk or ""),
        ("apps ran as", machine.user),
    ]
    rates = ", ".join(f"{rate.operation} at depth {rate.depth}: {rate.pages_per_s:,.0f} pages/s" for rate in machine.disk_rates)
    return [*lines, ("disk rates", rates), *sorted(machine.facts.items())]
