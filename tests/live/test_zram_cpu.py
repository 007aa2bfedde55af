"""Compares the processor time of compressing and decompressing a page in zram with the model's
constants (specs/x86-64.toml).
"""

from __future__ import annotations

import ctypes
import mmap
import os
import tomllib
from pathlib import Path
from time import thread_time_ns

import pytest
from test_zram_pool import pages, zram  # noqa: F401  (fixtures)

SPEC = Path(__file__).parents[2] / "crates" / "device" / "src" / "specs" / "x86-64.toml"
BATCH, PASSES = 64, 40
pytestmark = pytest.mark.skipif("SWAPLAB_SOAK_SECONDS" not in os.environ, reason="a measurement of time, for an idle machine: make soak")


@pytest.fixture(scope="module", autouse=True)
def spec_machine() -> None:
    """Skip on another processor than that of the constants, and on a busy machine, where other load
    would be measured.
    """
    text = Path("/proc/cpuinfo").read_text()
    facts = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}
    if (facts.get("vendor_id"), facts.get("cpu family"), facts.get("model")) != ("GenuineIntel", "6", "167"):
        pytest.skip("the constants of specs/x86-64.toml are for another processor: Intel, family 6, model 167")
    if os.getloadavg()[0] > 1.5 * (os.cpu_count() or 1):
        pytest.skip(f"too busy to measure: {os.getloadavg()[0]:.0f} programs want {os.cpu_count()} cores")


def batches(content: list[bytes]) -> list[memoryview]:
    """Page-aligned buffers of `BATCH` pages each, as direct I/O requires."""
    buffer = mmap.mmap(-1, len(content) * mmap.PAGESIZE)
    buffer[:] = b"".join(content)
    size = BATCH * mmap.PAGESIZE
    return [memoryview(buffer)[at : at + size] for at in range(0, len(buffer), size)]


@pytest.mark.parametrize("algorithm", ["lzo-rle", "lz4"])
def test_the_modeled_time_is_the_kernels(zram: Path, pages: list[bytes], algorithm: str) -> None:  # noqa: F811
    if algorithm not in (zram / "comp_algorithm").read_text().replace("[", "").replace("]", "").split():
        pytest.skip(f"this kernel's zram has no {algorithm}")
    content = [page for page in pages if page != page[:8] * 512][: 16 * BATCH]
    assert len(content) == 16 * BATCH
    filled = [bytes([1 + at % 255]) * mmap.PAGESIZE for at in range(len(content))]
    (zram / "comp_algorithm").write_text(algorithm)
    (zram / "disksize").write_text(str(2 * len(content) * mmap.PAGESIZE))
    spent: dict[str, list[tuple[float, float]]] = {"compress": [], "decompress": []}
    device, into = os.open(f"/dev/{zram.name}", os.O_RDWR | os.O_DIRECT), memoryview(mmap.mmap(-1, BATCH * mmap.PAGESIZE))
    try:
        sides = [(batches(content), 0), (batches(filled), len(content) * mmap.PAGESIZE)]
        for _ in range(PASSES):
            # The compressor's time is the difference between a real page and a same-filled one, as
            # all other work is the same.
            wrote, read = [], []
            for buffers, start in sides:
                began = thread_time_ns()
                for at, buffer in enumerate(buffers):
                    os.pwrite(device, buffer, start + at * len(buffer))
                wrote.append(thread_time_ns() - began)
            for buffers, start in sides:
                began = thread_time_ns()
                for at in range(len(buffers)):
                    os.preadv(device, [into], start + at * len(into))
                read.append(thread_time_ns() - began)
            for work, (real, base) in (("compress", wrote), ("decompress", read)):
                spent[work].append((real / len(content), base / len(content)))
    finally:
        os.close(device)
    compare(algorithm, spent)


def compare(algorithm: str, spent: dict[str, list[tuple[float, float]]]) -> None:
    """Compare modeled and measured times in ns per page, from passes with and without the work.

    Interruptions only add time to a pass. So the lower quartile of each kind of pass, not of their
    differences, is the time on an idle machine.
    """
    constants = tomllib.loads(SPEC.read_text())["cpu"]
    for work, times in spent.items():
        real, base = (sorted(side)[PASSES // 4] for side in zip(*times, strict=True))
        measured, modeled = real - base, constants[f"{work}_{algorithm.replace('-', '_')}_ns"]["value"]
        print(f"{algorithm} {work}: measured {measured:.0f} ns a page, modeled {modeled}")
        assert modeled == pytest.approx(measured, rel=0.15), work


def test_the_modeled_time_of_zstd_is_the_librarys(pages: list[bytes]) -> None:  # noqa: F811
    try:
        zstd = ctypes.CDLL("libzstd.so.1")
    except OSError:
        pytest.skip("libzstd.so.1 is missing")
    for name in ("ZSTD_createCCtx", "ZSTD_createDCtx"):
        getattr(zstd, name).restype = ctypes.c_void_p
    for name in ("ZSTD_compressCCtx", "ZSTD_decompressDCtx"):
        getattr(zstd, name).restype = ctypes.c_size_t
    compressor, decompressor = ctypes.c_void_p(zstd.ZSTD_createCCtx()), ctypes.c_void_p(zstd.ZSTD_createDCtx())
    content = [page for page in pages if page != page[:8] * 512][:512]
    packed, back = [ctypes.create_string_buffer(5000) for _ in content], ctypes.create_string_buffer(4096)
    spent: dict[str, list[tuple[float, float]]] = {"compress": [], "decompress": []}
    for _ in range(PASSES):
        began = thread_time_ns()
        sizes = [zstd.ZSTD_compressCCtx(compressor, out, 5000, page, 4096, 3) for out, page in zip(packed, content, strict=True)]
        compressed = thread_time_ns()
        for out, size in zip(packed, sizes, strict=True):
            zstd.ZSTD_decompressDCtx(decompressor, back, 4096, out, size)
        restored = thread_time_ns()
        for out in packed:
            zstd.ZSTD_decompressDCtx(decompressor, back, 0, out, 0)
        call = thread_time_ns() - restored
        spent["compress"].append(((compressed - began) / len(content), call / len(content)))
        spent["decompress"].append(((restored - compressed) / len(content), call / len(content)))
    assert back.raw == content[-1]
    compare("zstd", spent)
