"""FIFO, LRU and CLOCK as plainly as they can be written.

Every policy model has the same three methods:

    reference(page, op, backing) -> (fault, evicted pages in the order they left)
    forget(page)                 -> the page's content is gone (unmapped); its frame is free again
    resident()                   -> the pages in memory

`op` is one of R, W, I and `backing` one of anon, file; these three policies look at neither. All of them evict before they insert,
and only when no frame is free.

Choices where the reading (docs/papers/spo-clock.md, item 8, "Bits start at 0") leaves room:

1. CLOCK: a page that has just been brought in has bit 0; the faulting access does not set it, the next access does.
2. CLOCK: a new page goes just behind the hand, so it is the last one the hand will come to. A queue whose head is the hand says the
   same thing.
3. A forgotten page leaves its place in the queue; the others keep their order, and the hand stands on the next page.
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
    """A FIFO in which a page that is used goes to the young end again."""

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
