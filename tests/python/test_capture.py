"""`swaplab trace capture` by command: exit codes and output are passed through, and every kind of
end leaves a valid trace.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from swaplab import NotSupported
from swaplab.capture import methods

SWAPLAB = Path(sys.executable).parent / "swaplab"
METHODS = [
    pytest.param(name, marks=pytest.mark.skipif(reason is not None, reason=str(reason)))
    for name, reason in ((name, methods.missing(name, "x86_64")) for name in ("qemu", "lackey"))
]
either = pytest.mark.parametrize("method", METHODS)
qemu = pytest.mark.skipif(methods.missing("qemu", "x86_64") is not None, reason=str(methods.missing("qemu", "x86_64")))


def capture(output: Path, *command: str, options: tuple[str, ...] = (), **kwargs: object) -> subprocess.CompletedProcess[str]:
    line = [SWAPLAB, "trace", "capture", *options, "-o", output, "--", *command]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, **kwargs)  # type: ignore[call-overload, no-any-return]


def info(trace: Path) -> dict[str, object]:
    told = subprocess.run([SWAPLAB, "trace", "info", trace, "--json"], capture_output=True, text=True, check=True)
    return json.loads(told.stdout)  # type: ignore[no-any-return]


@either
def test_output_and_exit_code_pass_through(tmp_path: Path, method: str) -> None:
    out = tmp_path / "t.slt"
    done = capture(out, "/bin/sh", "-c", "read line; echo got $line; echo bad >&2; exit 42", options=("--method", method), input="this\n")
    assert (done.returncode, done.stdout) == (42, "got this\n")
    assert done.stderr.startswith("bad\n") and "truncated" not in done.stderr.lower()
    about = info(out)
    assert about["truncated"] is False and about["app_names"] == ["sh"] and about["classes_given"] is True
    assert about["filter"] == {"lru_entries": 16, "measured_error": about["filter"]["measured_error"]}  # type: ignore[index]
    assert about["raw_references"] > about["references"] > about["footprint_pages"] > 50  # type: ignore[operator]


@either
def test_a_crash_leaves_a_trace_marked_as_truncated(tmp_path: Path, method: str) -> None:
    out = tmp_path / "t.slt"
    done = capture(out, "/bin/sh", "-c", "echo before; kill -SEGV $$", options=("--method", method))
    assert (done.returncode, done.stdout) == (128 + signal.SIGSEGV, "before\n")
    assert "TRUNCATED: the program was ended by a signal" in done.stderr
    assert info(out)["truncated"] is True


@either
def test_the_limit_ends_the_program(tmp_path: Path, method: str) -> None:
    out = tmp_path / "t.slt"
    done = capture(out, "/bin/sh", "-c", "while :; do :; done", options=("--method", method, "--count", "200000"))
    assert done.returncode == 0 and "TRUNCATED" in done.stderr
    about = info(out)
    assert about["truncated"] is True
    assert 200_000 <= about["raw_references"] < 201_000  # type: ignore[operator]


@qemu
@pytest.mark.parametrize("to_group", [True, False], ids=["from a terminal", "by kill"])
def test_ctrl_c_leaves_a_truncated_trace(tmp_path: Path, to_group: bool) -> None:
    out = tmp_path / "t.slt"
    line = [SWAPLAB, "trace", "capture", "-o", out, "--", "/bin/sh", "-c", "echo started; while :; do :; done"]
    program = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert program.stdout is not None and program.stdout.readline() == "started\n"
    time.sleep(0.2)
    (os.killpg if to_group else os.kill)(program.pid, signal.SIGINT)
    _, errors = program.communicate(timeout=60)
    assert program.returncode == 130 and "TRUNCATED" in errors and "Traceback" not in errors
    assert info(out)["truncated"] is True


@qemu
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_cuts_the_trace_and_lets_the_program_end(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", small], check=True)
    try:
        out = small / "t.slt"
        script = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; exit 9"
        done = capture(out, "/bin/sh", "-c", script, options=("--filter", "0"))
        assert done.returncode == 9 and "TRUNCATED: the disk is nearly full" in done.stderr
        assert info(out)["truncated"] is True
        assert [path.name for path in small.iterdir()] == ["t.slt"]
    finally:
        subprocess.run(["umount", small], check=True)


@qemu
def test_only_misses_of_the_caches_are_recorded(tmp_path: Path) -> None:
    plain, behind = tmp_path / "plain.slt", tmp_path / "behind.slt"
    capture(plain, "/bin/true", options=("--filter", "0"))
    capture(behind, "/bin/true", options=("--cache", "L1:32KiB,LL:256KiB"))
    every, missed = info(plain), info(behind)
    assert missed["filter"] == {"caches": "L1:32KiB,LL:256KiB"}
    assert missed["references"] < every["references"] / 10  # type: ignore[operator]
    # The first line of a page is a miss, so the pages are equal except those that differ between
    # runs (addresses are random).
    assert abs(missed["footprint_pages"] - every["footprint_pages"]) < 10  # type: ignore[operator]


def test_without_qemu_and_valgrind_both_packages_are_named(tmp_path: Path) -> None:
    done = capture(tmp_path / "t.slt", "/bin/true", env={"PATH": "/nowhere"})
    assert done.returncode == 3
    assert "qemu-user" in done.stderr and "valgrind" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_without_root_capture_block_names_what_it_needs(tmp_path: Path) -> None:
    arguments = ["swaplab", "trace", "capture", "--method", "block", "-o", str(tmp_path / "x"), "--", "/bin/true"]
    worlds = "swaplab.worlds.kernel.block_capture, swaplab.worlds.kernel.journal"
    load = f"import difflib, os, sys, {worlds}; from swaplab.cli import app_with, main"
    code = f"{load}; app_with('trace'); os.setresuid(65534, 65534, 65534); sys.argv = {arguments}; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    if "Permission denied" in done.stderr:
        pytest.skip("this checkout can't be read by an unprivileged user")
    assert (done.returncode, done.stderr.count("\n")) == (3, 1), done.stderr
    assert "root" in done.stderr


@pytest.mark.parametrize(
    ("options", "command", "expected"),
    [
        ((), ["/no/such/program"], "no program"),
        ((), ["/etc/passwd"], "expected"),
        (("--method", "magic"), ["/bin/true"], "qemu lackey"),
        (("--cache", "L1:1KiB"), ["/bin/true"], "L1:32KiB,LL:2MiB"),
        (("--label", "coffee"), ["/bin/true"], "launch or resume"),
        (("--arch", "aarch64"), ["/bin/true"], "x86_64"),
        (("-o", "/no/such/folder/t.slt"), ["/bin/true"], "No such file or directory; expected a place to write the file"),
    ],
)
def test_bad_usage_is_one_line_and_leaves_nothing(tmp_path: Path, options: tuple[str, ...], command: list[str], expected: str) -> None:
    output = () if "-o" in options else ("-o", str(tmp_path / "t.slt"))
    line = [SWAPLAB, "trace", "capture", *options, *output, "--", *command]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert expected in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
@pytest.mark.skipif(not all(map(shutil.which, ("qemu-x86_64", "valgrind", "sqlite3"))), reason="qemu-user, valgrind or sqlite3 is missing")
def test_both_methods_record_equivalent_traces(tmp_path: Path) -> None:
    """LRU faults over the first five million references of sqlite3, at three sizes."""
    script = Path(__file__).parents[2] / "data" / "workloads" / "shop.sql"
    faults = {}
    for method in ("qemu", "lackey"):
        out = tmp_path / f"{method}.slt"
        options = ("--method", method, "--filter", "8", "--count", "5000000")
        assert capture(out, "sqlite3", ":memory:", f".read {script}", options=options).returncode == 0
        line = [SWAPLAB, "replay", out, "--policy", "lru", "--memory", "100p,200p,300p", "--json"]
        told = subprocess.run(line, capture_output=True, text=True, check=True)
        faults[method] = [row["paging"]["faults"] for row in json.loads(told.stdout)["rows"]]
    assert len(faults["qemu"]) == 3
    for ours, theirs in zip(faults["qemu"], faults["lackey"], strict=True):
        assert ours == pytest.approx(theirs, rel=0.02), faults


def test_a_qemu_without_plugins_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian 13's qemu-user is built without plugins: `auto` takes valgrind, and the reason is
    given where QEMU is asked for.
    """
    emulator = tmp_path / "qemu-x86_64"
    emulator.write_text("#!/bin/sh\n[ \"$1\" = -h ] && echo '-one-insn-per-tb  QEMU_ONE_INSN_PER_TB' && exit\necho ran >&2; exit 1\n")
    emulator.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert methods.missing("qemu", "x86_64") == "this qemu-x86_64 is built without plugins, as Debian 13's is"
    with pytest.raises(NotSupported, match="without plugins"):
        methods.choose("qemu", "x86_64")
    if methods.missing("lackey", "x86_64") is None:
        assert methods.choose("auto", "x86_64") == "lackey"
