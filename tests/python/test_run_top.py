"""`swaplab top` beside a paged program."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

from rss import MIB, SWAPLAB, assert_the_budget_holds, watched
from test_run import pytestmark  # noqa: F401

FILL = "import time; d = {i: str(i) * 7 for i in range(200000)}; print(sum(len(v) for v in d.values()))"


def test_the_budget_holds_while_top_is_open():
    """`top` reads the pager's counters once a second; the program is neither stopped nor given more
    memory for it.
    """
    native = watched([sys.executable, "-c", FILL], None)
    screen, terminal = os.openpty()
    top = subprocess.Popen(
        [SWAPLAB, "top"], stdin=terminal, stdout=terminal, stderr=terminal, env=os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    )
    os.close(terminal)
    shown: list[bytes] = []
    reader = threading.Thread(target=lambda: _read_all(screen, shown))
    reader.start()
    try:
        while not shown:
            time.sleep(0.05)
        dram = max(native.anonymous.values()) // 2
        run = watched([sys.executable, "-c", f"{FILL}; time.sleep(2.5)"], dram)
    finally:
        top.terminate()
        top.wait(20)
        reader.join(20)
        os.close(screen)
    assert (run.code, run.out) == (0, native.out), run.err[-2000:]
    assert_the_budget_holds(run, dram)
    budget = f"{dram / MIB:.1f}".encode()
    assert budget in b"".join(shown), "top never showed the program"


def _read_all(screen: int, shown: list[bytes]) -> None:
    """Read what `top` writes until its terminal is closed."""
    try:
        while data := os.read(screen, 1 << 16):
            shown.append(data)
    except OSError:  # the terminal's other end was closed
        pass
