"""Samples of the memory of running programs."""

from __future__ import annotations

import ctypes
import mmap
import os

from swaplab.capture.compressibility import PAGE, anonymous_pages, contents


def test_pages_of_a_program_are_found_and_read_although_one_between_them_is_unmapped() -> None:
    memory = mmap.mmap(-1, 4 * PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory[:PAGE], memory[2 * PAGE : 3 * PAGE] = b"a" * PAGE, b"b" * PAGE
    first = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    found = anonymous_pages(os.getpid())
    assert {first, first + 2 * PAGE} <= set(found) and len(found) == len(set(found))
    with open("/proc/self/mem", "rb", buffering=0) as own:
        assert list(contents(own, [first, PAGE, first + 2 * PAGE])) == [b"a" * PAGE, b"b" * PAGE]
