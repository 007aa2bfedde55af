"""The guest's tracepoints as rows of a table: a span for what begins and ends, a moment for every other event."""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from swaplab.worlds.kernel.collect.events import Event

#: Ends of the names of two tracepoints that one task passes, before and after something.
EDGES = (("_begin", "_end"), ("_wake", "_sleep"))
#: The same of block requests, which another task may complete; `rq`: as the device has them, `bio`: as they are handed to the block layer.
REQUESTS = {"block_rq_issue": "block_rq_complete", "block_bio_queue": "block_bio_complete"}
#: Device, kind, first sector and sectors: `259,2 RS 4096 () 12345 + 8 none,0,0 [kswapd0]`.
_REQUEST = re.compile(r"(?P<device>\d+,\d+) (?P<kind>\w+) .*?(?P<sector>\d+) \+ (?P<sectors>\d+)")
_KINDS = {"R": "read", "W": "write", "D": "discard", "F": "flush"}
SECTOR = 512
#: Of the table `tracepoints`, behind those that every table begins with. `length_ns` is null for a moment.
COLUMNS = {"at_ns": pl.Int64, "length_ns": pl.Int64, "track": pl.String, "name": pl.String, "detail": pl.String}


@dataclass(frozen=True)
class Span:
    """Something of the guest's kernel, in ns of the guest's clock; `length_ns` is None for a moment."""

    at_ns: int
    length_ns: int | None
    #: A task, or a place in a device's queue: spans of one track never overlap in part.
    track: str
    name: str
    detail: str


def spans(events: list[Event]) -> list[Span]:
    """The spans of a trace's events, by their start. What is still open where the trace ends, ends there.

    An end whose beginning the ring has lost is left out, and so is a second beginning before the end (kswapd is woken while it is awake).
    """
    last = max((_ns(event) for event in events), default=0)
    begins = _begins({event.name for event in events})
    ends = {end: begin for begin, end in begins.items()}
    open_: dict[tuple[str, str], tuple[Event, re.Match[str] | None]] = {}
    complete: list[Span] = []
    pending: list[tuple[int, int, re.Match[str]]] = []
    for event in events:
        request = _REQUEST.match(event.rest) if event.name in REQUESTS or event.name in REQUESTS.values() else None
        who = f"{request['device']} {request['sector']}" if request else _task(event)
        if event.name in begins:
            open_.setdefault((event.name, who), (event, request))
        elif event.name in ends:
            begun, _ = open_.pop((ends[event.name], who), (None, None))
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
    """The tracepoints that begin something, each with the one that ends it. One without the other in the trace is a moment."""
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
    """Requests of a device that overlap, each in the first free place of its queue."""
    free_at: dict[str, list[int]] = {}
    spans_of_requests = []
    for begun, ended, request in sorted(pending, key=lambda row: row[:2]):
        places = free_at.setdefault(request["device"], [])
        place = next((number for number, free in enumerate(places) if free <= begun), len(places))
        places[place : place + 1] = [ended]
        name = f"{_KINDS.get(request['kind'][0], request['kind'])} {int(request['sectors']) * SECTOR >> 10} KiB"
        spans_of_requests.append(Span(begun, ended - begun, f"block {request['device']} ({place + 1})", name, request["kind"]))
    return spans_of_requests
