"""A reference model of the replay engine: class, unmap and discard, footprint, clean pages with a
valid slot, no final flush; and docs/papers/spo-clock.md, items 6 and 8.

Events are tuples, with the fields of lines of page traces:

    ("R" | "W" | "I", page)          a reference
    ("M", start, n, "A" | "F")       map n pages, anonymous or (privately) a file's
    ("U", start, n), ("D", start, n) unmap, discard
    ("V", old, n, new, m)            mremap

A policy sees contents, not virtual pages. A content is a number that mremap moves along and that is
not reused after its content is freed.

A policy has `reference`, `forget` and `resident`; see simple_policies.py.

Where the text is ambiguous, this model assumes:

 1. Class: the table given, else the newest map event (A anonymous, F private file), else from the
    whole trace's references: ever written anonymous, else fetched file, else the option
    (anonymous).
 2. Classes are anonymous, file (which is private: anonymous from its first write on) and shared.
 3. The first write of a private file page that is not in memory is a file read, but the policy is
    shown an anonymous page: what it will be in memory.
 4. A first touch that is charged reads a slot that holds the page's content: the page is clean and
    its slot valid. So it leaves without a write if never written.
 5. A zero-filled page that was never written and is reclaimed costs no write and, touched again, no
    read: there is nothing to keep. It does fault.
 6. Zero fill is a fault but neither a swap read nor a file read.
 7. Unmap and discard act on pages that have been touched ("touched again after that"); a page never
    touched is still charged when it is first touched, even after a map or an unmap.
 8. A private file page that was written and then freed is a file page again (its copy is gone, the
    file is not): touched again it is read from the file. To the letter ("anonymous after", "an
    anonymous page is zero-filled") it would be zero-filled.
 9. A file or shared page that is unmapped stays in memory, dirty if it was, until the policy
    reclaims it; mapped again and touched it is a hit. If by then the page is anonymous (the map
    event says so) the old frame stays, unreachable, until it is reclaimed.
10. mremap: the destination is unmapped, min(n, m) pages move with class, dirtiness, slot and place
    in the policy, the rest is unmapped. The old addresses then count as unmapped. With old == new
    only the tail is unmapped.
11. `ignore` skips unmap, discard and mremap and what map frees; map events still tell the class of
    a page that has not been touched yet.
12. Dirty shared pages cost a file write when reclaimed. A swap write makes the slot valid; a write
    reference makes it invalid.

The model was written independently of the Rust engine. Items 3 and 8 follow the engine instead of
the literal text. The engine differs in 1, 7 and 10: it fixes a page's class at its first touch,
zero-fills a page that was mapped or unmapped before its first touch, and mishandles some mremap
targets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

COUNTERS = ["references", "faults", "swap_reads", "swap_writes", "file_reads", "file_writes"]


@dataclass
class Content:
    number: int
    kind: str  # anonymous, file, shared
    first_page: int
    slot_valid: bool = False  # swap holds this very content
    dirty: bool = False

    @property
    def backing(self) -> str:
        return "anon" if self.kind == "anonymous" else "file"


@dataclass
class Replay:
    policy: object
    table: dict[int, str] = field(default_factory=dict)
    first_touch: str = "charged"
    mapping: str = "follow"
    data_read_only: str = "anonymous"

    def __post_init__(self) -> None:
        self.content: list[Content] = []  # all contents, by number
        self.at: dict[int, Content] = {}  # current content of a virtual page
        self.freed: set[int] = set()  # virtual pages whose content was freed
        self.mapped: dict[int, str] = {}
        self.written: set[int] = set()
        self.fetched: set[int] = set()
        self.count = dict.fromkeys(COUNTERS, 0)
        # (index of the reference, virtual page of the content's first touch)
        self.evictions: list[tuple[int, int]] = []

    def run(self, events: Iterable[tuple]) -> dict[str, int]:
        events = list(events)
        self.written = {event[1] for event in events if event[0] == "W"}
        self.fetched = {event[1] for event in events if event[0] == "I"}
        for event in events:
            if event[0] in "RWI":
                self.access(event[0], event[1])
            elif event[0] == "M":
                self.map(event[1], event[2], {"A": "anonymous", "F": "file"}[event[3]])
            elif self.mapping == "follow":
                if event[0] == "V":
                    self.move(*event[1:])
                else:
                    for page in range(event[1], event[1] + event[2]):
                        self.free(page)
        return self.count

    def class_of(self, page: int) -> str:
        if page in self.table:
            return self.table[page]
        if page in self.mapped:
            return self.mapped[page]
        if page in self.written:
            return "anonymous"
        return "file" if page in self.fetched else self.data_read_only

    def access(self, op: str, page: int) -> None:
        self.count["references"] += 1
        if page not in self.at:
            fresh = Content(len(self.content), self.class_of(page), page)
            fresh.slot_valid = fresh.kind == "anonymous" and self.first_touch == "charged" and page not in self.freed
            self.content.append(fresh)
            self.at[page] = fresh
        content = self.at[page]
        turns = op == "W" and content.kind == "file"
        fault, evicted = self.policy.reference(content.number, op, "anon" if turns else content.backing)
        for number in evicted:
            self.reclaimed(self.content[number])
        if fault:
            self.count["faults"] += 1
            if content.kind != "anonymous":
                self.count["file_reads"] += 1
            elif content.slot_valid:
                self.count["swap_reads"] += 1
        if op == "W":
            if turns:
                content.kind = "anonymous"
            content.dirty = True
            content.slot_valid = False

    def reclaimed(self, content: Content) -> None:
        self.evictions.append((self.count["references"] - 1, content.first_page))
        if content.dirty and content.kind == "shared":
            self.count["file_writes"] += 1
        elif content.dirty:
            self.count["swap_writes"] += 1
            content.slot_valid = True
        content.dirty = False

    def free(self, page: int) -> None:
        """Free a page's content if it is anonymous; file content stays."""
        if page in self.at and self.at[page].kind == "anonymous":
            self.policy.forget(self.at.pop(page).number)
            self.freed.add(page)

    def map(self, start: int, pages: int, kind: str) -> None:
        for page in range(start, start + pages):
            if self.mapping == "follow":
                self.free(page)
            self.mapped[page] = kind
            if self.mapping == "follow" and page in self.at and self.class_of(page) == "anonymous":
                self.leave_behind(page)

    def leave_behind(self, page: int) -> None:
        """Unmap a file's content, which stays in memory."""
        if self.at.pop(page, None) is not None:
            self.freed.add(page)

    def move(self, old: int, pages: int, new: int, room: int) -> None:
        if old != new:
            for page in range(new, new + room):
                self.free(page)
                self.leave_behind(page)
            for offset in range(min(pages, room)):
                source, target = old + offset, new + offset
                if source in self.mapped:
                    self.mapped[target] = self.mapped[source]
                if source in self.freed:
                    self.freed.add(target)
                if source in self.at:
                    self.at[target] = self.at.pop(source)
                    self.freed.add(source)
        for page in range(old + room, old + pages):
            self.free(page)


def io_time_ns(
    count: dict[str, int], swap_read: int = 5263, swap_write: int = 28571, file_read: int = 10000, file_write: int = 14286
) -> int:
    """Compute the four times; costs are the inverse of the published 190k, 35k, 100k and 70k
    operations per second, rounded to ns.
    """
    return (
        count["swap_reads"] * swap_read
        + count["swap_writes"] * swap_write
        + count["file_reads"] * file_read
        + count["file_writes"] * file_write
    )
