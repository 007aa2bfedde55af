"""Sampling of the compressibility of running programs' memory.

It reads anonymous pages and writes the distribution file of compressed sizes that compressing
schemes use, such as `crates/swap/src/sampled.toml`.
"""

from __future__ import annotations

import io
import mmap
import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from swaplab import _core
from swaplab.core.errors import BadInput, NotSupported

PAGE = 4096
#: The kernel's page size, a multiple of `PAGE`.
KERNEL_PAGE = mmap.PAGESIZE
ALGORITHMS = ("lzo-rle", "lz4", "zstd")
#: Flags of `/proc/PID/pagemap`: the page is resident; it is file-backed or shared.
PRESENT, OF_FILE = 1 << 63, 1 << 61


def anonymous_pages(pid: int) -> list[int]:
    """List the addresses of a process's resident anonymous memory, in pieces of 4 KiB. Raises
    BadInput if there is no such process, NotSupported without permission.
    """
    addresses: list[int] = []
    try:
        maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
        with open(f"/proc/{pid}/pagemap", "rb") as pagemap:
            for line in maps:
                span, mode, *_ = line.split()
                start, end = (int(address, 16) for address in span.split("-"))
                # [vsyscall] is a page of the kernel, and pagemap has no entry for its address.
                if "r" not in mode or line.endswith("[vsyscall]"):
                    continue
                pagemap.seek(start // KERNEL_PAGE * 8)
                entries = memoryview(pagemap.read((end - start) // KERNEL_PAGE * 8)).cast("Q")
                present = [start + KERNEL_PAGE * i for i, entry in enumerate(entries) if entry & PRESENT and not entry & OF_FILE]
                addresses += [address + within for address in present for within in range(0, KERNEL_PAGE, PAGE)]
    except FileNotFoundError:
        raise BadInput(f"/proc/{pid}: no such process; expected the PID of a running program") from None
    except PermissionError:
        raise NotSupported(f"reading the memory of process {pid} needs its owner or root") from None
    return addresses


def sample(pids: Sequence[int], most: int, seed: int) -> Iterator[bytes]:
    """Yield the content of at most `most` pages, drawn at random from all anonymous pages of the
    programs.
    """
    pages = [(pid, address) for pid in pids for address in anonymous_pages(pid)]
    if not pages:
        raise BadInput("the given programs have no resident anonymous page; expected running programs")
    chosen = sorted(random.Random(seed).sample(pages, min(most, len(pages))))
    for pid in sorted({pid for pid, _ in chosen}):
        with suppress(OSError), open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            yield from contents(memory, [address for owner, address in chosen if owner == pid])


def contents(memory: io.FileIO, addresses: Sequence[int]) -> Iterator[bytes]:
    """Yield the pages at these addresses, except those that were unmapped in the meantime."""
    for address in addresses:
        with suppress(OSError):
            memory.seek(address)
            content = memory.read(PAGE)
            if len(content) == PAGE:
                yield content


def distribution(pages: Iterator[bytes], source: str) -> str:
    """Build the text of the distribution file: the percentiles of the compressed sizes, in bytes.
    Raises BadInput for fewer than 100 pages that are not same-filled.
    """
    sizes = _core.compressed_sizes(b"".join(pages))
    others = [size for size in sizes if size is not None]
    if len(others) < 100:
        raise BadInput(f"{len(others)} pages that are not same-filled; expected at least 100 for a distribution")
    lines = [
        "# Compressed sizes of 4 KiB pages, sampled by `swaplab trace sample-compressibility`.",
        f'source = "{source}"',
        f"pages = {len(sizes)}",
        f"same_filled = {1 - len(others) / len(sizes):.4f}",
        "",
        "# Bytes at every percent of rank, of the pages that are not same-filled.",
        "[bytes]",
    ]
    for number, algorithm in enumerate(ALGORITHMS):
        ranked = sorted(page_sizes[number] for page_sizes in others)
        quantiles = [ranked[round(percent / 100 * (len(ranked) - 1))] for percent in range(101)]
        rows = [", ".join(str(q) for q in quantiles[i : i + 20]) for i in range(0, 101, 20)]
        lines += [f"{algorithm} = ["] + [f"    {row}," for row in rows] + ["]"]
    return "\n".join(lines) + "\n"
