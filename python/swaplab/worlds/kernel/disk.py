"""Rates of this disk's random reads and writes of a page at queue depths 1 to 32, and a closed
queue model fitted to some of them.

Model: a request at depth d takes `service_us + wait_us * d`, so the rate is d / (service_us +
wait_us * d): a fixed path and a server behind it (the asymptotes of a closed queueing network). It
is fitted to depths 1, 4 and 16 by least squares on the latency. The reported error is that of its
predictions for depths 2, 8 and 32.
"""

from __future__ import annotations

import mmap
import os
import random
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from swaplab.core.model import DiskRate

PAGE = 4096
FITTED, UNSEEN = (1, 4, 16), (2, 8, 32)
SECONDS = 0.2
SIZE = 64 * 2**20


@dataclass(frozen=True)
class Queue:
    """The disk's measured rates, and the model fitted to them by operation (microseconds and
    relative errors).
    """

    rates: list[DiskRate]
    model: dict[str, dict[str, float]]

    def facts(self) -> dict[str, str]:
        """Describe the model in words."""
        return {f"disk {operation}, by a model of its queue": _disk_text(fitted) for operation, fitted in self.model.items()}


def _disk_text(fitted: dict[str, float]) -> str:
    error = f"{100 * fitted['error_median']:.0f} % off at unseen depths"
    return f"{fitted['service_us']:g} us and {fitted['wait_us']:g} us for each request of the queue; {error}"


def measure(directory: Path, seconds: float = SECONDS) -> Queue:
    """Measure direct reads and writes of random pages of a file in `directory`, in pages per second
    at each depth, and fit the model.
    """
    path = directory / "queue"
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_DIRECT, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, SIZE)
        _fill(descriptor)
        rates = [_depth(descriptor, operation, depth, seconds) for operation in OPERATIONS for depth in DEPTHS]
    finally:
        os.close(descriptor)
        path.unlink()
    return Queue(
        rates, {operation: fit({rate.depth: rate.pages_per_s for rate in rates if rate.operation == operation}) for operation in OPERATIONS}
    )


OPERATIONS = ("read", "write")
DEPTHS = sorted((*FITTED, *UNSEEN))


def _fill(descriptor: int) -> None:
    block = mmap.mmap(-1, 2**20)
    block[:] = os.urandom(2**20)
    for at in range(0, SIZE, len(block)):
        os.pwrite(descriptor, block, at)


def _depth(descriptor: int, operation: str, depth: int, seconds: float) -> DiskRate:
    latencies: list[list[float]] = [[] for _ in range(depth)]
    started = time.perf_counter()

    def work(number: int) -> None:
        rng, page = random.Random(number), mmap.mmap(-1, PAGE)
        page[:] = os.urandom(PAGE)
        began = time.perf_counter()
        # at least one request, even if the thread starts late
        while began < started + seconds or not latencies[number]:
            at = rng.randrange(SIZE // PAGE) * PAGE
            if operation == "read":
                os.preadv(descriptor, [page], at)
            else:
                os.pwrite(descriptor, page, at)
            now = time.perf_counter()
            latencies[number].append(now - began)
            began = now

    workers = [threading.Thread(target=work, args=(number,)) for number in range(depth)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    elapsed = time.perf_counter() - started
    return DiskRate(operation=operation, depth=depth, pages_per_s=round(sum(map(len, latencies)) / elapsed, 1))


def fit(rate: dict[int, float]) -> dict[str, float]:
    """Fit service_us and wait_us to the depths `FITTED`, and compute the relative error of the rate
    at the depths `UNSEEN`.

    A request's time is the depth divided by the rate (Little's law).
    """
    seen = [(depth, depth / rate[depth] * 1e6) for depth in FITTED]
    mean_d, mean_t = (sum(column) / len(seen) for column in zip(*seen, strict=True))
    wait = max(0.0, sum((d - mean_d) * (t - mean_t) for d, t in seen) / sum((d - mean_d) ** 2 for d, _ in seen))
    service = max(0.0, mean_t - wait * mean_d)
    missed = [abs(depth / (service + wait * depth) * 1e6 / rate[depth] - 1) for depth in UNSEEN]
    return {
        "service_us": round(service, 2),
        "wait_us": round(wait, 3),
        "error_median": round(median(missed), 4),
        "error_max": round(max(missed), 4),
    }
