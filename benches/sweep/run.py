"""`make bench-sweep`: a sweep of 400 points and five designs over a bundled trace with one local
process and with two, in wall time.

Runs with one and two processes alternate; the ratio is that of the medians. It needs two idle
cores. The results of both are compared byte for byte.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from swaplab import Trace

#: Five policies at 40 sizes, 2 devices, 5 seeds.
SWEEP = """
[[design]]
policy = ["clock", "lru", "sieve", "arc", "two-q"]
[workload]
trace = "{trace}"
[vary]
"run.seed" = [0, 1, 2, 3, 4]
"machine.dram" = {{ low = 2, high = 80, steps = 40, unit = "%" }}
"run.replay.swap_device" = ["optane-m10", "ufs-3.1"]
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trace", default="djpeg", help="a bundled trace")
    given = parser.parse_args()
    swaplab = Path(sys.executable).parent / "swaplab"
    seconds: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sweep.toml").write_text(SWEEP.format(trace=Trace.bundled(given.trace).path))
        for at in range(given.rounds):
            for jobs in seconds:
                out = folder / f"{at}-{jobs}"
                began = time.perf_counter()
                command: list[str | Path] = [swaplab, "run", folder / "sweep.toml", "--jobs", str(jobs), "-o", out]
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                seconds[jobs].append(time.perf_counter() - began)
            same = [(folder / f"{at}-{jobs}" / "summary.json").read_bytes() for jobs in seconds]
            assert same[0] == same[1], "one and two processes differ"
            print(
                f"round {at + 1}: " + ", ".join(f"{jobs} process{'es' if jobs > 1 else ''} {seconds[jobs][-1]:.2f} s" for jobs in seconds)
            )
    one, two = (statistics.median(seconds[jobs]) for jobs in seconds)
    print(f"400 points of five designs, {os.cpu_count()} cores: {one:.2f} s and {two:.2f} s")
    print(f"{one / two:.2f} times as fast on two; goal: at least 1.8")


if __name__ == "__main__":
    main()
