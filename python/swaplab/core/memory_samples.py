"""Samples of a phone's memory: outputs of /proc/meminfo, /proc/vmstat, /proc/pressure/memory and
`dumpsys meminfo`, in a file, in a folder with a file for each, or as a CSV with the kernel's names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from swaplab.core.errors import BadInput
from swaplab.core.files import path_for_message

#: Lines that samples have and a CSV of launches has not (docs/how-to/capture.md).
LINES = re.compile(rb"^\s*(@ \d|\*\* MEMINFO in pid |(MemTotal|MemFree):? +\d|Total RAM: |Applications Memory Usage)", re.MULTILINE)
#: A CSV of samples has a column of this name.
TOTAL = "MemTotal"
#: The first bytes of a file in which its format is looked for.
HEAD_BYTES = 1 << 16
#: Total stall times of /proc/pressure/memory in microseconds, by the first word of the line.
PRESSURE = {"some": "psi_some_total", "full": "psi_full_total"}
#: Names of the states of memory in `dumpsys meminfo`, the best first (ActivityManagerService).
STATES = ("normal", "moderate", "low", "critical")
#: Values that are read from `dumpsys meminfo` in addition to sizes: the state, and the frames of
#: zram's pool.
STATE, POOL = "state", "zram_physical"

#: The sizes and the counters that are kept; counters may have a suffix, such as a zone.
SIZES = (TOTAL, "MemFree", "MemAvailable", "Inactive(file)", "SwapTotal", "SwapFree")
COUNTERS = re.compile(r"(pswpin|pswpout|allocstall\w*|pgscan_(direct|kswapd)\w*(?<!throttle))$")

_KB = r"([\d,]+) ?(?:K|kB)"
_RAM = re.compile(rf"\s*Total RAM: {_KB}(?: \(status (\w+)\))?")
_ZRAM = re.compile(rf"\s*ZRAM:\s+{_KB} physical used for\s+{_KB} in swap \(\s*{_KB} total swap\)")
_UPTIME = re.compile(r"Uptime: (\d+) Realtime: \d+")
_MEMINFO = re.compile(r"([A-Z][\w()]*):\s+(\d+)(?: kB)?$")
_VMSTAT = re.compile(r"([a-z_]+) (\d+)$")
_PSI = re.compile(r"(some|full) avg10=\S+ .*total=(\d+)$")
_EVENT = re.compile(r"@ ([\d.]+)(?: (launch|start|kill) \S+.*)?$")


@dataclass
class Sample:
    """A sample: its time in seconds, None if unknown; sizes in bytes and counts, by the kernel's
    names.
    """

    at_s: float | None = None
    values: dict[str, int] = field(default_factory=dict)


@dataclass
class Samples:
    """The samples of a phone in order, and the numbers of launches and kills recorded with them."""

    of: list[Sample] = field(default_factory=list)
    launches: int = 0
    kills: int = 0
    #: Whether they have the memory of single processes, from which a phone can be fitted.
    processes: bool = False


def is_samples(source: Path) -> bool:
    """Whether a path holds samples: a folder does, a file by its first lines."""
    if source.is_dir():
        return True
    try:
        with source.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:  # reading it as a CSV of launches reports the problem
        return False
    names = head.split(b"\n", 1)[0].strip().split(b",")
    return LINES.search(head) is not None or TOTAL.encode() in [name.strip(b'" ') for name in names]


def read(source: Path, time: str) -> Samples:
    """Read samples. `time`: the column of the time in a CSV. Raises BadInput if there is none."""
    samples = Samples()
    try:
        files = sorted((path for path in source.iterdir() if path.is_file()), key=_natural) if source.is_dir() else [source]
        for file in files:
            text = file.read_text("utf-8", errors="replace")
            if LINES.search(text.encode()):
                _add_lines(samples, text.splitlines())
            elif TOTAL in text.split("\n", 1)[0]:
                _add_table(samples, file, time)
    except OSError as error:
        raise BadInput(f"{path_for_message(source)}: {error.strerror}; expected samples of a phone's memory") from None
    samples.of = [sample for sample in samples.of if TOTAL in sample.values]
    if not samples.of:
        raise BadInput(
            f"{path_for_message(source)}: no sample with {TOTAL} in it; expected outputs of /proc/meminfo or `dumpsys meminfo` of the "
            "whole phone (`swaplab trace fit phone` reads those of single apps)"
        )
    times = [sample.at_s for sample in samples.of]
    known = [at for at in times if at is not None]
    if len(known) < len(times) or known != sorted(known):
        # Without all times, or with those of several boots, only the order is known.
        for sample in samples.of:
            sample.at_s = None
    return samples


def _natural(path: Path) -> list[tuple[str, int]]:
    """Sort key of a path in which `2.txt` comes before `10.txt`: each text with the number after
    it.
    """
    texts, numbers = re.split(r"\d+", path.name), re.findall(r"\d+", path.name)
    return list(zip(texts, map(int, [*numbers, "0"]), strict=True))


def _add_lines(samples: Samples, lines: Iterable[str]) -> None:
    """Add the samples of a text. A line `@ SECONDS` begins one; without such lines, each total
    does.
    """
    samples.of.append(Sample())
    begun, uptime_s = False, None
    for line in lines:
        current = samples.of[-1]
        if event := _EVENT.match(line):
            begun = True
            samples.of.append(Sample(float(event[1])))
            samples.launches += event[2] == "launch"
            samples.kills += event[2] == "kill"
        elif line.startswith(("process ", "** MEMINFO in pid ")):
            samples.processes = True
        elif uptime := _UPTIME.match(line):
            uptime_s = int(uptime[1]) / 1000
        elif found := _values(line):
            if TOTAL in found and TOTAL in current.values and not begun:
                current = Sample()
                samples.of.append(current)
            if TOTAL in found and current.at_s is None:
                current.at_s = uptime_s
            current.values.update({name: value for name, value in found.items() if name not in current.values})


def _values(line: str) -> dict[str, int]:
    """Parse a line of any of the outputs; empty for others."""
    if (parsed := _MEMINFO.match(line)) is not None:
        return {parsed[1]: int(parsed[2]) * 1024} if parsed[1] in SIZES else {}
    if (parsed := _VMSTAT.match(line)) is not None:
        return {parsed[1]: int(parsed[2])} if COUNTERS.match(parsed[1]) else {}
    if (parsed := _PSI.match(line)) is not None:
        return {PRESSURE[parsed[1]]: int(parsed[2])}
    if (parsed := _RAM.match(line)) is not None:
        state = {STATE: STATES.index(parsed[2])} if parsed[2] in STATES else {}
        return {TOTAL: _bytes(parsed[1]), **state}
    if (parsed := _ZRAM.match(line)) is not None:
        pool, used, total = map(_bytes, parsed.groups())
        return {POOL: pool, "SwapTotal": total, "SwapFree": total - used}
    return {}


def _bytes(kilobytes: str) -> int:
    return int(kilobytes.replace(",", "")) * 1024


def _add_table(samples: Samples, file: Path, time: str) -> None:
    """Add the rows of a CSV: sizes in kB as /proc/meminfo has them, and counters."""
    try:
        table = pl.read_csv(file, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise BadInput(f"{path_for_message(file)}: {str(error).splitlines()[0]}; expected a CSV of samples with a header") from None
    for line, row in enumerate(table.iter_rows(named=True), 2):
        sample = Sample()
        for name, text in row.items():
            if text is None or not text.strip():
                continue
            if name != time and name not in SIZES and name not in PRESSURE.values() and not COUNTERS.match(name):
                continue
            try:
                number = float(text)
            except ValueError:
                expected = "seconds" if name == time else "a number of kB" if name in SIZES else "a count"
                raise BadInput(f"{path_for_message(file)}:{line}: {name} '{text}'; expected {expected}") from None
            if name == time:
                sample.at_s = number
            else:
                sample.values[name] = int(number) * (1024 if name in SIZES else 1)
        samples.of.append(sample)
