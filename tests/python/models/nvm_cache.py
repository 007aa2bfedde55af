"""A reference model of the NVM cache between DRAM and flash, from docs/papers/nvm-swap-cache.md and
the paper's Section III.

A request is (page, op, is_swap) with op R or W. The cache counts the page reads and writes that
reach flash.

Where the text is ambiguous, this model assumes:

1. A read that misses and is admitted costs its flash read; a write that misses and is admitted
   costs none (the page is dirty in the NVM). A bypassed request costs one flash access.
2. `evictions`: reads only look up. A read that misses goes to flash, is never admitted, and neither
   enters nor leaves the history.
3. History in LRU order: an entry's only use besides leaving is a read that misses while the page is
   in the history (`evictions`), which makes it the youngest. With `demand` every second request
   leaves the history, so LRU and FIFO cannot differ.
4. A page that leaves the NVM does not enter the history.
5. LFU counts from the admission (1) and resets at eviction; among equals the least recently used
   page is evicted.
6. A hit of any kind is a touch. A read hit leaves the page in the NVM, dirty if it was.
7. `swap_only`: other requests bypass the cache and are counted as flash accesses; without it all
   requests are treated equally.
8. No final flush. The victim is chosen, and written back if dirty, before the new page enters.
"""

from __future__ import annotations

from collections.abc import Iterable


class NvmCache:
    def __init__(
        self,
        pages: int,
        replacement: str = "lru",
        admission: str = "always",
        fill: str = "demand",
        history: str = "lru",
        swap_only: bool = False,
    ) -> None:
        if pages < 1:
            raise ValueError("at least one page")
        self.pages = pages
        self.replacement = replacement
        self.admission = admission
        self.fill = fill
        self.history_order = history
        self.swap_only = swap_only
        self.cached: list[int] = []  # least recently used first
        self.uses: dict[int, int] = {}
        self.dirty: set[int] = set()
        self.history: list[int] = []  # oldest first
        self.count = dict.fromkeys(["storage_reads", "storage_writes", "nvm_hits", "admitted", "bypassed"], 0)

    def run(self, requests: Iterable[tuple[int, str, bool]]) -> dict[str, int]:
        for page, op, is_swap in requests:
            self.request(page, op, is_swap)
        return self.count

    def request(self, page: int, op: str, is_swap: bool = True) -> None:
        if self.swap_only and not is_swap:
            self.flash(op)
            return
        if page in self.cached:
            self.count["nvm_hits"] += 1
            self.uses[page] += 1
            self.cached.remove(page)
            self.cached.append(page)
            if op == "W":
                self.dirty.add(page)
            return
        if self.fill == "evictions" and op == "R":
            if page in self.history and self.history_order == "lru":
                self.history.remove(page)
                self.history.append(page)
            self.flash(op)
            return
        if self.admission == "always":
            self.admit(page, op)
        elif page in self.history:
            self.history.remove(page)
            self.admit(page, op)
        else:
            self.count["bypassed"] += 1
            self.flash(op)
            self.history.append(page)
            if len(self.history) > self.pages:
                self.history.pop(0)

    def admit(self, page: int, op: str) -> None:
        self.count["admitted"] += 1
        if len(self.cached) == self.pages:
            victim = self.cached[0]
            if self.replacement == "lfu":
                victim = min(self.cached, key=lambda each: self.uses[each])  # the first of equals
            self.cached.remove(victim)
            del self.uses[victim]
            if victim in self.dirty:
                self.dirty.remove(victim)
                self.flash("W")
        self.cached.append(page)
        self.uses[page] = 1
        if op == "W":
            self.dirty.add(page)
        else:
            self.flash("R")

    def flash(self, op: str) -> None:
        self.count["storage_writes" if op == "W" else "storage_reads"] += 1
