"""LRU as a Python class: `swaplab replay TRACE --policy ./mine.py:Mine --memory 10%`.

With `protect=N` it spares dirty pages among the N used longest ago (CFLRU's clean-first window).
"""

from collections import OrderedDict
from itertools import islice


class Mine:
    """Least recently used, clean pages first within a window."""

    def __init__(self, setup, *, protect=0):
        self.order = OrderedDict()  # pages in memory, the one used longest ago first
        self.protect = protect

    def referenced(self, pages, ops):
        for page in pages:
            self.order[page] = None
            self.order.move_to_end(page)

    def reclaim(self, incoming, pages):
        window = islice(self.order, self.protect)
        victim = next((page for page in window if not pages.is_dirty(page)), next(iter(self.order)))
        del self.order[victim]
        return victim

    def forget(self, pages):
        for page in pages:
            self.order.pop(page, None)
