"""A guest's memory samples as a recording in the format `memory-samples`, with launches, starts and
kills as events.
"""

from __future__ import annotations

from collections.abc import Iterator

from swaplab.worlds.vm import records
from swaplab.worlds.vm.guest import Outcome


def recording(outcome: Outcome, foreground_ns: int, gips: float) -> str:
    """Build the text of the recording; empty if no samples were requested.

    After an app has answered that it is ready, it stays in the foreground for `foreground_ns` of
    the guest's time. The guest's clock counts instructions as nanoseconds; the recording has the
    times, in seconds, of a core that executes `gips` billions of instructions per second.
    """
    if not outcome.samples:
        return ""
    # The sort is stable, so of simultaneous events a start stays before its launch.
    events = [*_samples(outcome.samples), *_kills(outcome.kills), *_launches(outcome.visits, foreground_ns, gips)]
    events.sort(key=lambda event: event[0])
    start = events[0][0]
    lines = [line for at_ns, head, body in events for line in (f"@ {(at_ns - start) / gips / 1e9:.9f}{head}", *body)]
    return "\n".join(lines) + "\n"


#: Time by the guest's clock, the text after the time in the recording, and the lines below.
Event = tuple[int, str, list[str]]


def _samples(samples: list[records.Sample]) -> Iterator[Event]:
    return ((sample.at_ns, "", sample.lines) for sample in samples)


def _kills(kills: list[records.Kill]) -> Iterator[Event]:
    return ((kill.at_ns, f" kill {kill.app}", []) for kill in kills)


def _launches(visits: list[records.Visit], foreground_ns: int, gips: float) -> Iterator[Event]:
    for visit in visits:
        if visit.start == "cold":
            yield visit.at_ns, f" start {visit.app}", []
        yield visit.at_ns, f" launch {visit.app} {(visit.ready_ns + foreground_ns) / gips / 1e9:.9f}", []
