"""Slow reference models of LIRS and CLOCK-Pro, with the methods of simple_policies.py. Every list
is a Python list.

LIRS is written from Jiang and Zhang, SIGMETRICS 2002, Section 3.2. Where the paper leaves a choice:

1. HIR pages have one frame in a hundred, at least one. Pages are LIR until the other frames are
   used.
2. At most three times as many names of evicted pages as frames are kept, the one evicted first
   dropped first. The paper has no limit.
3. The victim leaves before the faulting page enters the stack. A page found on the stack loses its
   name before that.

CLOCK-Pro is written from Jiang, Chen and Zhang, USENIX ATC 2005, Sections 4.2 and 4.3. Where the
paper leaves a choice:

1. A page is cold and in its test period when it is first brought in, the first ones too.
2. HAND_cold and HAND_test stand at a page. A hand that went past the newest page stands where
   HAND_hot stands, and moves with it.
3. A faulting page in its test period leaves the clock, and the cold target grows, before HAND_cold
   looks for a frame.
4. HAND_hot ends the test period of each cold page that it passes, referenced or not. HAND_cold
   starts a new test period for a referenced page that has none.
5. HAND_hot moves while there are more hot pages than frames that are not for cold ones.

Their author had seen the Rust policies, so a reading of the paper that both share is not noticed;
what is written down wrongly is.
"""

from __future__ import annotations


class Lirs:
    def __init__(self, frames: int) -> None:
        hir = max(1, frames // 100)
        self.frames, self.lir_frames, self.most_names = frames, frames - hir, 3 * frames
        self.stack: list[int] = []  # the most recent reference is last
        self.queue: list[int] = []  # resident HIR pages; the next victim is first
        self.lir: set[int] = set()
        self.names: list[int] = []  # in order of eviction

    def resident(self) -> set[int]:
        return self.lir | set(self.queue)

    def prune(self) -> None:
        while self.stack and self.stack[0] not in self.lir:
            gone = self.stack.pop(0)
            if gone in self.names:
                self.names.remove(gone)

    def promote(self, page: int) -> None:
        """Make a page LIR, and the oldest LIR page HIR if there are too many."""
        self.lir.add(page)
        self.prune()
        if len(self.lir) > self.lir_frames:
            oldest = self.stack.pop(0)
            self.lir.remove(oldest)
            self.queue.append(oldest)
            self.prune()

    def reference(self, page: int, op: str = "R", backing: str = "anon") -> tuple[bool, list[int]]:
        fault = page not in self.resident()
        if page in self.names:
            self.names.remove(page)
        evicted = []
        if fault and len(self.resident()) == self.frames:
            victim = self.queue.pop(0)
            evicted.append(victim)
            if victim in self.stack:
                self.names.append(victim)
                if len(self.names) > self.most_names:
                    self.stack.remove(self.names.pop(0))
        on_stack = page in self.stack
        if on_stack:
            self.stack.remove(page)
        self.stack.append(page)
        if page in self.lir:
            self.prune()
        elif on_stack or (fault and len(self.lir) < self.lir_frames):
            if page in self.queue:
                self.queue.remove(page)
            self.promote(page)
        else:
            if page in self.queue:
                self.queue.remove(page)
            self.queue.append(page)
            self.prune()
        return fault, evicted


class ClockPro:
    def __init__(self, frames: int) -> None:
        self.frames = frames
        # HAND_hot stands at the first page; new pages are last, just behind it
        self.clock: list[int] = []
        self.hot: set[int] = set()
        self.cold: set[int] = set()  # resident cold pages
        self.testing: set[int] = set()  # cold pages in their test period, resident or not
        self.referenced: set[int] = set()
        self.cold_target = 1
        self.hand: dict[str, int | None] = {"cold": None, "test": None}

    def resident(self) -> set[int]:
        return self.hot | self.cold

    def ghosts(self) -> int:
        return len(self.testing - self.cold)

    def after(self, page: int) -> int | None:
        at = self.clock.index(page) + 1
        return self.clock[at] if at < len(self.clock) else None

    def take_out(self, page: int) -> None:
        for name, at in self.hand.items():
            if at == page:
                self.hand[name] = self.after(page)
        self.clock.remove(page)

    def advance(self, name: str) -> int:
        """Move a hand by a page, and return the page that it stood at."""
        at = self.hand[name]
        page = self.clock[0] if at is None else at
        self.hand[name] = self.after(page)
        return page

    def end_test(self, page: int) -> None:
        if page in self.testing:
            self.testing.remove(page)
            self.cold_target = max(1, self.cold_target - 1)
            if page not in self.cold:
                self.take_out(page)

    def passed_test(self) -> None:
        self.cold_target = min(self.frames, self.cold_target + 1)

    def run_hand_hot(self) -> None:
        while len(self.hot) > self.frames - self.cold_target:
            page = self.clock.pop(0)
            self.clock.append(page)
            if page not in self.hot:
                self.end_test(page)
            elif page in self.referenced:
                self.referenced.remove(page)
            else:
                self.hot.remove(page)
                self.cold.add(page)

    def run_hand_cold(self) -> int:
        while True:
            page = self.advance("cold")
            if page not in self.cold:
                continue
            if page not in self.referenced:
                self.cold.remove(page)
                if page not in self.testing:
                    self.take_out(page)
                return page
            self.referenced.remove(page)
            self.take_out(page)
            self.clock.append(page)
            if page in self.testing:
                self.testing.remove(page)
                self.cold.remove(page)
                self.hot.add(page)
                self.passed_test()
            else:
                self.testing.add(page)
            self.run_hand_hot()

    def reference(self, page: int, op: str = "R", backing: str = "anon") -> tuple[bool, list[int]]:
        if page in self.resident():
            self.referenced.add(page)
            return False, []
        recalled = page in self.testing
        if recalled:
            self.testing.remove(page)
            self.take_out(page)
            self.passed_test()
        evicted = []
        if len(self.resident()) == self.frames:
            evicted.append(self.run_hand_cold())
            while self.ghosts() > self.frames:
                self.end_test(self.advance("test"))
        self.clock.append(page)
        if recalled:
            self.hot.add(page)
        else:
            self.cold.add(page)
            self.testing.add(page)
        self.run_hand_hot()
        return True, evicted
