"""Slow reference models of GreedyDual, CLOCK-DWF and W-TinyLFU, with the methods of
simple_policies.py.

GreedyDual is written from Cao and Irani, USITS 1997, Section 4. Where the paper leaves a choice:

1. The cost of a page is the read that brings it back, plus the write that its eviction takes if it
   is dirty after its last use.
2. Of equal credits, the page with the lower cost is evicted, then the one that was used longer ago.

CLOCK-DWF is written from Lee, Bahn and Noh, IEEE Transactions on Computers 63(9), 2014, Section 3.
Where the paper leaves a choice:

1. The written ring (the paper's DRAM) has half the frames, rounded down. The other ring has what it
   leaves free.
2. A page enters the written ring before the hand looks for the page that leaves it, and can be that
   page itself. The hand of a ring stands at the page that entered, or was passed, longest ago.
3. The counter of writes stays with a page that falls back to the other ring.

W-TinyLFU is written from Einziger, Friedman and Manes, ACM ToS 13(4), 2017, Section 4. Where the
paper leaves a choice:

1. The window has one frame in a hundred, at least one; the protected segment has four fifths of the
   rest, rounded down.
2. Use counts are exact and at most 15. After ten times as many references as frames they are
   halved, and so is the number of references.
3. The faulting reference is counted after its victim was chosen.
4. The candidate is the oldest page of the window if the window is full; the oldest page of the main
   part leaves if it has fewer uses.

Their author had seen the Rust policies, so a reading of the paper that both share is not noticed;
what is written down wrongly is.
"""

from __future__ import annotations

#: Costs in ns of reading and writing a page: swap on Optane M10, files on UFS 3.1.
READ = {"anon": 5263, "file": 10000}
WRITE = {"anon": 28571, "file": 14286}


class GreedyDual:
    def __init__(self, frames: int) -> None:
        self.frames = frames
        self.credit: dict[int, tuple[int, int, int]] = {}  # credit, cost and time of the last use
        self.dirty: set[int] = set()
        self.floor = 0
        self.now = 0

    def resident(self) -> set[int]:
        return set(self.credit)

    def reference(self, page: int, op: str = "R", backing: str = "anon") -> tuple[bool, list[int]]:
        fault = page not in self.credit
        evicted = []
        if fault and len(self.credit) == self.frames:
            victim = min(self.credit, key=lambda one: self.credit[one])
            self.floor = self.credit.pop(victim)[0]
            self.dirty.discard(victim)
            evicted.append(victim)
        if op == "W":
            self.dirty.add(page)
        cost = READ[backing] + (WRITE[backing] if page in self.dirty else 0)
        self.now += 1
        self.credit[page] = (self.floor + cost, cost, self.now)
        return fault, evicted


class ClockDwf:
    def __init__(self, frames: int) -> None:
        self.frames, self.written_frames = frames, frames // 2
        self.written: list[int] = []  # the hand stands at the first page
        self.others: list[int] = []
        self.bit: dict[int, bool] = {}  # written since the hand passed; of the other ring: used
        self.writes: dict[int, int] = {}

    def resident(self) -> set[int]:
        return set(self.bit)

    def demote(self) -> None:
        """Turn the hand of the written ring until a page without recent writes falls back."""
        while True:
            page = self.written.pop(0)
            if not self.bit[page] and self.writes[page] == 0:
                self.others.append(page)
                return
            self.writes[page] += 1 if self.bit[page] else -1
            self.bit[page] = False
            self.written.append(page)

    def enter_written(self, page: int) -> None:
        self.written.append(page)
        if len(self.written) > self.written_frames:
            self.demote()

    def reference(self, page: int, op: str = "R", backing: str = "anon") -> tuple[bool, list[int]]:
        if page in self.bit:
            if page in self.others:
                self.bit[page] = True
                if op == "W":
                    self.others.remove(page)
                    self.enter_written(page)
            elif op == "W":
                self.bit[page] = True
            return False, []
        evicted = []
        if len(self.bit) == self.frames:
            if not self.others:
                self.demote()
            while self.bit[self.others[0]]:
                self.bit[self.others[0]] = False
                self.others.append(self.others.pop(0))
            evicted.append(self.others.pop(0))
            del self.bit[evicted[0]], self.writes[evicted[0]]
        self.bit[page], self.writes[page] = False, 0
        if op == "W":
            self.enter_written(page)
        else:
            self.others.append(page)
        return True, evicted


class WTinyLfu:
    def __init__(self, frames: int) -> None:
        self.frames = frames
        self.window_frames = max(1, frames // 100)
        self.protected_frames = (frames - self.window_frames) * 4 // 5
        self.window: list[int] = []  # of each list, the most recent use is last
        self.probation: list[int] = []
        self.protected: list[int] = []
        self.uses: dict[int, int] = {}
        self.counted = 0

    def resident(self) -> set[int]:
        return {*self.window, *self.probation, *self.protected}

    def count(self, page: int) -> None:
        self.uses[page] = min(15, self.uses.get(page, 0) + 1)
        self.counted += 1
        if self.counted >= 10 * self.frames:
            self.uses = {known: uses // 2 for known, uses in self.uses.items()}
            self.counted //= 2

    def victim(self) -> int:
        main = self.probation or self.protected
        if main and len(self.window) < self.window_frames:
            return main.pop(0)
        if not main or self.uses[self.window[0]] <= self.uses[main[0]]:
            return self.window.pop(0)
        leaving = main.pop(0)
        self.probation.append(self.window.pop(0))
        return leaving

    def reference(self, page: int, op: str = "R", backing: str = "anon") -> tuple[bool, list[int]]:
        fault = page not in self.resident()
        evicted = [self.victim()] if fault and len(self.resident()) == self.frames else []
        self.count(page)
        if fault:
            self.window.append(page)
            if len(self.window) > self.window_frames:
                self.probation.append(self.window.pop(0))
        elif page in self.window:
            self.window.remove(page)
            self.window.append(page)
        else:
            (self.probation if page in self.probation else self.protected).remove(page)
            self.protected.append(page)
            if len(self.protected) > self.protected_frames:
                self.probation.append(self.protected.pop(0))
        return fault, evicted
