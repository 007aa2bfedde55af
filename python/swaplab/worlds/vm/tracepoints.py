"""The guest's tracepoints as rows of a table: a span for a pair of begin and end events, an instant
for every other event.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from swaplab.worlds.kernel.collect.events import Event

#: Name suffixes of pairs of tracepoints that a task passes at the begin and the end of an
#: operation.
EDGES = (("_begin", "_end"), ("_wake", "_sleep"))
#: Pairs for block requests, which another task may complete; `rq`: at the device, `bio`: at the
#: block layer.
REQUESTS = {"block_rq_issue": "block_rq_complete", "block_bio_queue": "block_bio_complete"}
#: Device, kind, first sector and sectors: `259,2 RS 4096 () 12345 + 8 none,0,0 [kswapd0]`.
_REQUEST = re.compile(r"(?P<device>\d+,\d+) (?P<kind>\w+) .*?(?P<sector>\d+) \+ (?P<sectors>\d+)")
_KINDS = {"R": "read", "W": "write", "D": "discard", "F": "flush"}
SECTOR = 512
#: Columns of the table `tracepoints` after those of every table. `length_ns` is null for an
#: instant.
COLUMNS: dict[str, type] = {"at_ns": int, "length_ns": int, "track": str, "name": str, "detail": str}


@dataclass(frozen=True)
class Span:
    """An operation of the guest's kernel, in ns of the guest's clock; `length_ns` is None for an
    instant.
    """

    at_ns: int
    length_ns: int | None
    #: A task, or a position in a device's queue. Spans of one track never overlap partially.
    track: str
    name: str
    detail: str


def spans(events: list[Event]) -> list[Span]:
    """Build the spans of a trace's events, sorted by their start. Spans that are open at the end of
    the trace end there.

    An end event whose begin event the ring has lost is ignored. So is a second begin event before
    the end: a wake-up of a running kswapd.
    """
    last = max((_ns(event) for event in events), default=0)
    begins = _begins({event.name for event in events})
    ends = {end: begin for begin, end in begins.items()}
    open_: dict[tuple[str, str], tuple[Event, re.Match[str] | None]] = {}
    complete: list[Span] = []
    pending: list[tuple[int, int, re.Match[str]]] = []
    for event in events:
        request = _REQUEST.match(event.rest) if event.name in REQUESTS or event.name in REQUESTS.values() else None
        owner = f"{request['device']} {request['sector']}" if request else _task(event)
        if event.name in begins:
            open_.setdefault((event.name, owner), (event, request))
        elif event.name in ends:
            begun, _ = open_.pop((ends[event.name], owner), (None, None))
            if begun is None:
                continue
            if request:
                pending.append((_ns(begun), _ns(event), request))
            else:
                complete.append(_span(begun, _ns(event)))
        else:
            complete.append(Span(_ns(event), None, _task(event), event.name, event.rest))
    for event, request in open_.values():
        if request:
            pending.append((_ns(event), last, request))
        else:
            complete.append(_span(event, last))
    return sorted([*complete, *_requests(pending)], key=lambda span: (span.at_ns, span.track))


def _begins(seen: set[str]) -> dict[str, str]:
    """Return the begin tracepoints in the trace with their end tracepoints. If either is not in the
    trace, the other is an instant.
    """
    pairs = {name: name.removesuffix(begin) + end for name in seen for begin, end in EDGES if name.endswith(begin)} | REQUESTS
    return {begin: end for begin, end in pairs.items() if begin in seen and end in seen}


def _ns(event: Event) -> int:
    return round(event.time_s * 1e9)


def _task(event: Event) -> str:
    return f"{event.task} ({event.process})"


def _span(begun: Event, until_ns: int) -> Span:
    name = next(begun.name.removesuffix(begin) for begin, _ in EDGES if begun.name.endswith(begin))
    return Span(_ns(begun), until_ns - _ns(begun), _task(begun), name, begun.rest)


def _requests(pending: list[tuple[int, int, re.Match[str]]]) -> list[Span]:
    """Assign each of a device's requests, which may overlap, to the first free position of its
    queue.
    """
    free_at: dict[str, list[int]] = {}
    spans_of_requests = []
    for begun, ended, request in sorted(pending, key=lambda row: row[:2]):
        places = free_at.setdefault(request["device"], [])
        place = next((number for number, free in enumerate(places) if free <= begun), len(places))
        places[place : place + 1] = [ended]
        name = f"{_KINDS.get(request['kind'][0], request['kind'])} {int(request['sectors']) * SECTOR >> 10} KiB"
        spans_of_requests.append(Span(begun, ended - begun, f"block {request['device']} ({place + 1})", name, request["kind"]))
    return spans_of_requests
