"""Real programs on a quarter, half and three quarters of the memory that they need say what they say natively (`make soak`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_run import HERE, NODE, SQL, SWAPLAB, paged, program, pytestmark

pytestmark = [*pytestmark, pytest.mark.skipif("SWAPLAB_SOAK_SECONDS" not in os.environ, reason="minutes long: make soak")]
SHARES = (0.25, 0.5, 0.75)


#: Runs a command; the last line on stderr is the most memory that it, or a child of it, had at a time, in KiB.
MEASURED = """import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)"""


def natively(command: list[str], **more) -> tuple[subprocess.CompletedProcess, int]:
    """The native run, and the bytes of memory that its largest process took."""
    run = subprocess.run([sys.executable, "-S", "-c", MEASURED, *command], capture_output=True, timeout=900, **more)
    return run, int(run.stderr.split()[-1]) * 1024


def same_on_shares(tmp_path: Path, command: list[str], **more) -> None:
    """Output and exit code as natively on each share of the need; less is swapped the more memory there is."""
    (native, whole), swapped = natively(command, **more), []
    for share in SHARES:
        stats = tmp_path / "stats.json"
        run = paged(command, f"{int(share * whole)}B", stats=stats, timeout=900, **more)
        assert (run.stdout, run.returncode) == (native.stdout, native.returncode), (share, run.stderr[-2000:])
        swapped.append(json.loads(stats.read_text())["swap_outs"])
    print(Path(command[0]).name, f"{whole / 2**20:.0f} MiB", dict(zip(SHARES, swapped, strict=True)))
    # Nothing is swapped where most of a program is code, or memory that the pager does not manage (V8 reserves its heap by itself).
    assert swapped[0] >= swapped[2]


def test_sqlite(tmp_path):
    same_on_shares(tmp_path, [program("sqlite3"), ":memory:"], input=SQL.replace("60000", "300000").encode())


def test_node(tmp_path):
    same_on_shares(tmp_path, [program("node"), "-e", NODE])


def test_a_compiler_on_a_large_file(tmp_path):
    body = "int s = {0}; for (int i = 0; i < n; i++) s = s * 31 + a[i] % ({0} + 3); return s;"
    lines = (f"int f{i}(int *a, int n) {{ {body.format(i)} }}" for i in range(2500))
    (tmp_path / "large.c").write_text("\n".join(lines))
    same_on_shares(tmp_path, [program("gcc"), "-O2", "-S", "-o", "-", str(tmp_path / "large.c")])


@pytest.mark.parametrize("module", ["test_json", "test_dict", "test_list", "test_re", "test_threading", "test_gc"])
def test_python_on_its_own_tests(module):
    python = program("python3")
    if subprocess.run([python, "-c", f"import test.{module}"], capture_output=True).returncode:
        pytest.skip("this python3 comes without its own tests")
    command = [python, "-m", "test", "-r", "--randseed", "1", module]

    def said(run: subprocess.CompletedProcess) -> tuple[int, list[bytes]]:
        return run.returncode, [line for line in run.stdout.splitlines() if line.startswith((b"Total tests", b"Result"))]

    native, whole = natively(command)
    for share in SHARES:
        assert said(paged(command, f"{int(share * whole)}B", timeout=900)) == said(native), share


@pytest.mark.parametrize("share", SHARES)
def test_redis_with_a_client_that_verifies(tmp_path, share):
    # 12,000 keys need about 16 MiB.
    port = str(20000 + os.getpid() % 20000)
    options = ["--port", port, "--dir", str(tmp_path), "--save", "", "--enable-debug-command", "yes"]
    start = [SWAPLAB, "run", "--dram", f"{int(share * 16)}MiB", "--", program("redis-server"), *options]
    with subprocess.Popen(start, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
        try:
            client = subprocess.run([sys.executable, HERE / "redis_client.py", port, "12000"], capture_output=True, text=True, timeout=600)
        finally:
            if running.poll() is None:
                running.terminate()
        assert client.stdout == "verified 12000\n", client.stderr
