"""Simple reference models of FIFO, LRU and CLOCK.

Every policy model has the same three methods:

    reference(page, op, backing) -> (fault, evicted pages in the order they left)
    forget(page)                 -> the page's content is gone (unmapped); its frame is free again
    resident()                   -> the pages in memory

`op` is one of R, W, I and `backing` one of anon, file; these policies ignore both. They evict
before they insert, and only if no frame is free.

Where docs/papers/spo-clock.md, item 8 ("Bits start at 0"), is ambiguous, these models assume:

1. CLOCK: a page that has just been brought in has bit 0; the faulting access does not set it, the
   next access does.
2. CLOCK: a new page is inserted just behind the hand, so it is the last one that the hand reaches.
   A queue whose head is under the hand is equivalent.
3. A forgotten page leaves its place in the queue; the others keep their order, and the hand moves
   to the next page.
"""

from __future__ import annotations


class Fifo:
    def __init__(self, frames: int) -> None:
        if frames < 1:
            raise ValueError("at least one frame")
        self.frames = frames
        self.queue: list[int] = []  # oldest first

    def reference(self, page: int, op: str = "R", backing: str = "anon") -> tuple[bool, list[int]]:
        if page in self.queue:
            return False, []
        evicted = []
        if len(self.queue) == self.frames:
            evicted.append(self.queue.pop(0))
        self.queue.append(page)
        return True, evicted

    def forget(self, page: int) -> None:
        if page in self.queue:
            self.queue.remove(page)

    def resident(self) -> set[int]:
        return set(self.queue)


class Lru(Fifo):
    """A FIFO in which a used page moves to the young end."""

    def reference(self, page: int, op: str = "R", backing: str = "anon") -> tuple[bool, list[int]]:
        fault, evicted = super().reference(page, op, backing)
        self.queue.remove(page)
        self.queue.append(page)
        return fault, evicted


class Clock:
    def __init__(self, frames: int) -> None:
        if frames < 1:
            raise ValueError("at least one frame")
        self.frames = frames
        self.queue: list[int] = []  # the head is under the hand
        self.bit: dict[int, int] = {}

    def reference(self, page: int, op: str = "R", backing: str = "anon") -> tuple[bool, list[int]]:
        if page in self.bit:
            self.bit[page] = 1
            return False, []
        evicted = []
        if len(self.queue) == self.frames:
            while self.bit[self.queue[0]] == 1:
                self.bit[self.queue[0]] = 0
                self.queue.append(self.queue.pop(0))
            victim = self.queue.pop(0)
            del self.bit[victim]
            evicted.append(victim)
        self.queue.append(page)
        self.bit[page] = 0
        return True, evicted

    def forget(self, page: int) -> None:
        if page in self.bit:
            self.queue.remove(page)
            del self.bit[page]

    def resident(self) -> set[int]:
        return set(self.queue)
