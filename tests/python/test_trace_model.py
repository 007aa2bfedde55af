"""`swaplab trace fit app`: an app model is fitted to a capture of a program with known launch and
resume sets.
"""

import json
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

SWAPLAB = Path(sys.executable).parent / "swaplab"
PYTHON = "/usr/bin/python3"
needs = pytest.mark.skipif(not (shutil.which("qemu-x86_64") and Path(PYTHON).exists()), reason="qemu-user or /usr/bin/python3 is missing")

#: A program with 12 MiB and 4 MiB. For each line of input it writes the 4 MiB again, then answers.
#: It is killed at the end, because a normal exit would be part of the last resume.
APP = """
import os, sys
cold, hot = bytearray(12 << 20), bytearray(4 << 20)
for block in (cold, hot):
    for at in range(0, len(block), 4096):
        block[at] = 1
print("ready", flush=True)
for line in sys.stdin:
    for at in range(0, len(hot), 4096):
        hot[at] = (hot[at] + 1) % 256
    print("done", flush=True)
os._exit(0)
"""


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of the program above: a launch, and three resumes labeled through the pipe."""
    folder = tmp_path_factory.mktemp("model")
    out, pipe = folder / "app.slt", folder / "labels"
    line = [SWAPLAB, "trace", "capture", "--label", "launch", "--label-pipe", pipe, "-o", out, "--", PYTHON, "-S", "-I", "-c", APP]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdin is not None and program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        for _ in range(3):
            # The label is set while the program waits for input.
            with pipe.open("w") as labels:
                labels.write("resume\n")
            time.sleep(0.3)
            program.stdin.write("back\n")
            program.stdin.flush()
            assert program.stdout.readline() == "done\n"
        program.stdin.close()
        assert program.wait(timeout=60) == 0
    return out


@needs
def test_fitted_sets_and_shares_equal_the_program_s(captured: Path, tmp_path: Path) -> None:
    toml = tmp_path / "app.toml"
    done = subprocess.run([SWAPLAB, "trace", "fit", "app", captured, "-o", toml, "--json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["captures"][0]
    own = 16 << 20 >> 12
    assert own < found["launch"]["anon"] < own + 2500, found
    assert len(found["resumes"]) == 3
    for resume in found["resumes"]:
        # The 1,024 pages of `hot`, and the interpreter's own pages.
        assert 1024 <= resume["anon"] < 1024 + 500 and 1024 <= resume["written"] <= resume["anon"], found
    assert found["shares"]["resume_share"] == pytest.approx(1024 / found["anon_pages"], abs=0.05)
    assert found["shares"]["write_share"] > 0.85
    assert found["error"]["held_out"] is True
    assert abs(found["error"]["anon"]) < 0.05 and found["error"]["hot_used"] > 0.95, found["error"]

    own_size = tomllib.loads(toml.read_text())["workload"]["apps"]["models"]["python3"]["anon"]
    assert own_size == f"{found['anon_pages'] * 4096}B"
    assert "fit's error" in toml.read_text() and "assumed" in toml.read_text()
    ran = subprocess.run([SWAPLAB, "run", toml, "--set", "machine.dram=800MiB", "--json"], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    assert document["experiment"]["workload"]["apps"]["models"]["python3"]["anon"] == own_size
    assert [row["launches"]["count"] > 0 for row in document["rows"]] == [True, True]


@needs
def test_a_capture_without_a_resume_is_refused_in_one_line(tmp_path: Path) -> None:
    plain = tmp_path / "t.csv"
    plain.write_text("page,op\n1,R\n")
    done = subprocess.run([SWAPLAB, "trace", "fit", "app", plain, "-o", tmp_path / "x.toml"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1) and "the labels launch and resume" in done.stderr
    assert not (tmp_path / "x.toml").exists()
