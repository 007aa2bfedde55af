"""`swaplab exec` and the kernel: the budget audited in a control group, and adverse conditions for
the pager.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from rss import descendants
from swaplab import NotSupported
from swaplab._core import pager_check
from swaplab.worlds.kernel.knobs.cgroup import Group
from swaplab.worlds.procfs import memory_cgroup
from test_run import HERE, SQL, SWAPLAB, paged, program, pytestmark  # noqa: F401

TOUCH = HERE.parent.parent.parent / "benches" / "pager" / "touch.c"


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """Compile a C program of the tests, once."""

    def compiled(source: Path, *options: str) -> str:
        target = tmp_path_factory.getbasetemp() / f"built-{source.stem}"
        if not target.exists():
            subprocess.run([program("gcc"), "-O2", "-pthread", "-o", target, source, *options], check=True)
        return str(target)

    return compiled


@pytest.fixture
def group():
    """A memory control group of the test, without a limit."""
    found = [(version, at) for version in (1, 2) if (at := memory_cgroup(version))]
    if os.geteuid() != 0 or not found:
        pytest.skip("needs root and a memory control group")
    version, top = found[0]
    made = Group(top / f"swaplab-test-{os.getpid()}", version)
    made.path.mkdir()
    yield made
    for _ in range(100):
        try:
            made.path.rmdir()
            return
        except OSError:
            time.sleep(0.05)


def audited(group: Group, stats: Path, dram: int, command: str, *options: str) -> tuple[int, dict]:
    """Measure the peak of the anonymous memory that the kernel charges to a paged program. Returns
    it and the pager's counters.
    """
    inside = ["/bin/sh", "-c", f"echo $$ > {group.path}/cgroup.procs && exec {command}"]
    start = [SWAPLAB, "exec", "--dram", f"{dram}MiB", "--stats", str(stats), *options, "--", *inside]
    peak = 0
    with subprocess.Popen(start, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
        while run.poll() is None:
            peak = max(peak, group.stat()["anon"])
            time.sleep(0.002)
        assert run.returncode == 0, run.stderr.read()
    return peak, json.loads(stats.read_text())


#: SCHED_DEADLINE of Linux' sched.h, which Python's `os` does not name.
SCHED_DEADLINE = 6


def test_a_busy_pager_runs_before_ordinary_threads(build):
    deadline = ["--sched-runtime", "850000", "--sched-deadline", "1000000", "--sched-period", "1000000"]
    if os.geteuid() != 0 or subprocess.run([program("chrt"), "--deadline", *deadline, "0", "true"]).returncode != 0:
        pytest.skip("needs the right to be a deadline task")
    command = [SWAPLAB, "exec", "--dram", "8MiB", "--", build(TOUCH), "64", "100000000", "100", "2"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as run:
        try:
            until = time.monotonic() + 30
            while (policy := policy_of_pager(run.pid)) != SCHED_DEADLINE and time.monotonic() < until:
                time.sleep(0.02)
            assert policy == SCHED_DEADLINE
        finally:
            for pid in descendants(run.pid):
                os.kill(pid, signal.SIGKILL)


def policy_of_pager(pid: int) -> int | None:
    """Return the scheduling policy of the pager thread of a descendant of `pid`, if any."""
    for task in (task for child in descendants(pid) for task in Path(f"/proc/{child}/task").glob("*")):
        with suppress(OSError):
            if (task / "comm").read_text().strip() == "swaplab-pager":
                return os.sched_getscheduler(int(task.name))
    return None


@pytest.mark.parametrize("scheme", ["nvm-direct", pytest.param("nvm-copy", marks=pytest.mark.long)])
def test_the_kernel_agrees_on_the_budget(tmp_path, group, build, scheme):
    sql = tmp_path / "input.sql"
    sql.write_text(SQL)
    touch, sqlite = build(TOUCH), program("sqlite3")
    for dram, command in ((32, f"{touch} 64 60000 50 1"), (16, f"{touch} 64 200000 100 4"), (6, f"{sqlite} :memory: < {sql}")):
        # On a busy machine the pager may be delayed, so the budget must hold in one of five runs.
        rows = []
        for _ in range(5):
            peak, document = audited(group, tmp_path / "stats.json", dram, command, "--swap", scheme)
            # brk, stacks and the pager's tables are counted separately. The kernel's count lags by
            # up to 64 pages per processor.
            managed = peak - document["processes"][-1]["unmanaged_bytes"] - 64 * 4096 * (os.cpu_count() or 1)
            rows.append((managed / (dram << 20), peak, document["dram_peak_bytes"], document["unmanaged_bytes"]))
            if managed <= 1.05 * (dram << 20) and document["dram_peak_bytes"] <= 1.05 * (dram << 20):
                break
        assert rows[-1][0] <= 1.05 and rows[-1][2] <= 1.05 * (dram << 20), rows
        assert document["swap_outs"] > 500


PINNED = ["open", "openat", "open by number", "openat2", "fcntl", "locked", "tagged", "updated", "provided", "own", "refused"]


@pytest.mark.parametrize("how", PINNED)
def test_pinned_buffers_and_memory_with_huge_pages_are_kept(tmp_path, build, how):
    run = paged([build(HERE / "pinned.c"), str(tmp_path / "file"), how], "8MiB", stats=tmp_path / "s.json")
    assert run.returncode == 0 and run.stdout.startswith(b"direct I/O"), (run.returncode, run.stdout, run.stderr)
    counted = json.loads((tmp_path / "s.json").read_text())
    assert counted["swap_outs"] > 10000
    # A registration that failed excludes nothing from eviction.
    assert how != "refused" or counted["stuck_bytes"] <= 1 << 20, counted


@contextmanager
def small_tmpfs(place: Path, size: str) -> Iterator[Path]:
    """Mount a tmpfs that is never swapped out."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a tmpfs")
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"noswap,size={size}", "swaplab-test", place], capture_output=True).returncode:
        pytest.skip("no tmpfs can be mounted noswap here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.parametrize("scheme", ["nvm-direct", "nvm-copy"])
def test_a_full_disk_loses_nothing(tmp_path, scheme):
    code = "x = [bytes([i % 256]) * 65536 for i in range(COUNT)]; print(sum(b[-1] == i % 256 for i, b in enumerate(x)))"
    with small_tmpfs(tmp_path / "nvm", "2m") as nvm:
        options = ["--nvm", str(nvm), "--swap", scheme]
        run = paged([sys.executable, "-S", "-c", code.replace("COUNT", "100")], "6MiB", *options)
        assert run.returncode == 0 and run.stdout == b"100\n", run.stderr
        run = paged([sys.executable, "-S", "-c", code.replace("COUNT", "900")], "6MiB", *options)
        assert run.returncode != 0 and b"MemoryError" in run.stderr and b"the store is full" in run.stderr, run.stderr[-500:]
        assert not list(nvm.iterdir())


def _store_of(run: subprocess.Popen, name: str) -> tuple[int, Path]:
    """Find the paged process of a run, and its open store file in the descriptor table of the pager
    thread.
    """
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for task in Path("/proc").glob("[0-9]*/task/[0-9]*"):
            try:
                parent = int((task.parent.parent / "stat").read_text().rsplit(")", 1)[1].split()[1])
                if parent == run.pid and (task / "comm").read_text() == "swaplab-pager\n":
                    return int(task.parent.parent.name), next(f for f in (task / "fd").iterdir() if name in os.readlink(f))
            except (OSError, StopIteration):
                continue
        time.sleep(0.05)
    raise AssertionError("no paged process was found")


#: A program that fills memory, waits for a byte, and reads all of the memory back.
WAITS = "x = [bytes([i % 256]) * 65536 for i in range(200)]; print('filled', flush=True); input(); print(sum(b[-1] for b in x))"


@pytest.mark.parametrize("scheme", ["nvm-direct", "nvm-copy"])
def test_a_store_truncated_by_another_process_ends_the_program(tmp_path, scheme):
    """Its content is lost, so the program must not continue with zeros instead: the pager ends it,
    or the kernel where the program reads the file's pages in place. A memory file cannot be
    truncated at all.
    """
    with small_tmpfs(tmp_path / "nvm", "64m") as nvm:
        for options, name in ((["--nvm", str(nvm)], str(nvm)), ([], "memfd:swaplab-nvm")):
            command = [SWAPLAB, "exec", "--dram", "4MiB", "--swap", scheme, *options, "--", sys.executable, "-S", "-c", WAITS]
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
                assert run.stdout.readline() == b"filled\n"
                _, file = _store_of(run, name)
                if options:
                    os.truncate(file, 0)
                else:
                    with pytest.raises(PermissionError):
                        os.truncate(file, 0)
                out, err = run.communicate(b"\n", timeout=60)
            if options:
                told = run.returncode == 128 + signal.SIGABRT and b"cannot read a page back" in err
                in_place = run.returncode == 128 + signal.SIGBUS and scheme == "nvm-direct"
                assert (told or in_place) and not out, (run.returncode, err)
            else:
                assert (run.returncode, out) == (0, b"%d\n" % sum(i % 256 for i in range(200))), err


def test_a_killed_program_leaves_no_file(tmp_path):
    for scheme in ("nvm-direct", "flash", "nvm-cache"):
        with small_tmpfs(tmp_path / scheme, "64m") as nvm:
            flash = tmp_path / f"{scheme}-flash"
            flash.mkdir()
            places = ["--nvm", str(nvm), "--flash", str(flash), "--record", str(tmp_path / f"{scheme}.slt")]
            command = [SWAPLAB, "exec", "--dram", "4MiB", "--swap", scheme, *places, "--", sys.executable, "-S", "-c", WAITS]
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
                assert run.stdout.readline() == b"filled\n"
                pid, _ = _store_of(run, "")
                os.kill(pid, signal.SIGKILL)
                assert run.wait(20) == 137
            assert not list(nvm.iterdir()) and not list(flash.iterdir())
    # The record so far is a trace that is marked as truncated.
    assert sorted(f.name for f in tmp_path.iterdir() if f.is_file()) == ["flash.slt", "nvm-cache.slt", "nvm-direct.slt"]


def test_without_the_privilege_the_reason_is_given():
    if os.geteuid() != 0 or Path("/proc/sys/vm/unprivileged_userfaultfd").read_text().strip() != "0":
        pytest.skip("needs root, which gives the privilege up, and a machine that asks for it")
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.setresuid(65534, 65534, 65534)
        try:
            pager_check("nvm-direct", "refault", "")
        except NotSupported as missing:
            os.write(write_end, str(missing).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write_end)
    said = os.read(read_end, 1000).decode()
    os.close(read_end)
    assert said.startswith("userfaultfd: not permitted") and "vm.unprivileged_userfaultfd=1" in said


DROPS = """import os
os.setuid(65534)
x = [bytes([i % 256]) * 65536 for i in range(200)]
print(sum(b[-1] for b in x))
"""


def test_a_program_that_drops_its_privileges_is_still_paged(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root, which gives its rights up")
    run = paged(["/usr/bin/python3", "-S", "-c", DROPS], "4MiB", stats=tmp_path / "s.json")
    assert (run.returncode, run.stdout) == (0, b"%d\n" % sum(i % 256 for i in range(200))), run.stderr
    assert b"not paged" not in run.stderr and json.loads((tmp_path / "s.json").read_text())["swap_outs"] > 1000
