"""A reference model of DR.Swap's state machine, from docs/papers/dr-swap.md and the paper's
Sections III-A and III-B.

An anonymous page is in one of these states: untouched, in DRAM, in an NVM slot (unmapped), in an
NVM slot mapped read-only. DRAM is reclaimed in LRU order.

Where the text is ambiguous, this model assumes:

1. Only the fault that maps the slot counts as a direct read; later reads through the mapping are
   free and invisible.
2. A write to a slot that is not mapped yet is copied at once: one fault, no direct read.
3. A page mapped from the NVM takes no DRAM frame and has no place in the LRU order; its slot stays
   taken.
4. A first touch fills the page with zeros in DRAM: no copy.
5. Copied to DRAM the slot is free, so the page is copied out again when it is reclaimed.
   `direct=False` (the same machine without Direct Read) copies on reads too; a page so read and
   still clean keeps its slot and leaves without a copy ("a clean page whose slot is still valid
   costs no write"), and a write frees the slot.
6. A zero page that was never written is copied out as well: the state machine has no dirty bit.
7. A slot that is freed by the incoming page itself is free before DRAM is reclaimed for it. So a
   full NVM can still exchange a page.
8. NVM full: `kill` is asked for the pages of a killed process until a slot is free; they are
   dropped everywhere. If it names none, NvmFull.
9. File pages: clean ones are dropped, dirty ones written to flash, and both are read again from
   flash.
"""

from __future__ import annotations

from collections.abc import Callable


class NvmFull(Exception):
    pass


class DirectRead:
    def __init__(self, frames: int, slots: int, direct: bool = True, kill: Callable[[], list[int]] | None = None) -> None:
        self.frames = frames
        self.slots = slots
        self.direct = direct
        self.kill = kill
        self.dram: list[int] = []  # least recently used first
        self.slot: set[int] = set()  # pages with a slot in the NVM
        self.mapped: set[int] = set()  # of these, mapped read-only
        self.files: set[int] = set()
        self.dirty_files: set[int] = set()
        self.count = dict.fromkeys(
            ["faults", "zero_fills", "direct_reads", "copied_pages", "swap_outs", "kills", "file_reads", "file_writes"], 0
        )

    def access(self, page: int, op: str, backing: str = "anon") -> None:
        if page in self.dram:
            self.dram.remove(page)
            self.dram.append(page)
        elif page in self.mapped and op != "W":
            return
        else:
            self.count["faults"] += 1
            if page in self.slot and op != "W" and self.direct:
                self.count["direct_reads"] += 1
                self.mapped.add(page)
                return
            self.bring_in(page, op, backing)
        if op == "W":
            self.slot.discard(page)
            if page in self.files:
                self.dirty_files.add(page)

    def bring_in(self, page: int, op: str, backing: str) -> None:
        if backing == "file":
            self.files.add(page)
            self.count["file_reads"] += 1
        elif page in self.slot:
            self.count["copied_pages"] += 1
            self.mapped.discard(page)
            if self.direct or op == "W":
                self.slot.remove(page)
        else:
            self.count["zero_fills"] += 1
        while len(self.dram) >= self.frames:
            self.reclaim(self.dram[0])
        self.dram.append(page)

    def reclaim(self, page: int) -> None:
        if page in self.files:
            if page in self.dirty_files:
                self.dirty_files.remove(page)
                self.count["file_writes"] += 1
        elif page not in self.slot:
            while len(self.slot) >= self.slots:
                self.kill_one()
            if page not in self.dram:
                return  # it belonged to the killed process
            self.slot.add(page)
            self.count["swap_outs"] += 1
        self.dram.remove(page)

    def kill_one(self) -> None:
        pages = self.kill() if self.kill else []
        if not pages:
            raise NvmFull
        self.count["kills"] += 1
        for page in pages:
            self.discard(page)

    def discard(self, page: int) -> None:
        if page in self.dram:
            self.dram.remove(page)
        for places in (self.slot, self.mapped, self.files, self.dirty_files):
            places.discard(page)
