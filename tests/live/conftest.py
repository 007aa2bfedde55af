"""Live tests need root and a kernel with swap. Without these they are skipped with the reason. A
machine runs one of them at a time.
"""

import fcntl
import os
import sys
import time
from pathlib import Path

import pytest
from swaplab.worlds.capabilities import PROBES
from swaplab.worlds.kernel.journal import STATE

sys.path.insert(0, str(Path(__file__).parent))

NEEDED = ("root", "swap", "swap-tools", "swap-file")


@pytest.fixture(scope="module", autouse=True)
def live_machine():
    """Skip with the reason if the machine lacks a requirement; otherwise wait until no other live
    tests run on it.

    The lock is held for one file and not for the session, which also has other tests. Each run also
    takes swaplab's own lock.
    """
    for name, _, probe in PROBES:
        if name in NEEDED:
            available, why = probe()
            if not available:
                pytest.skip(f"{name} is missing: {why}")
    if not any(probe()[0] for name, _, probe in PROBES if name in ("cgroup-v1-memory", "cgroup-v2-memory")):
        pytest.skip("no memory control group")
    STATE.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (STATE / "tests.lock").open("w") as lock:
        deadline = time.monotonic() + 300
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    pytest.skip("other live tests have held this machine for five minutes")
                time.sleep(0.5)
        yield
        assert os.geteuid() == 0
