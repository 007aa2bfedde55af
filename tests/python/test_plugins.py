"""User-defined policies: a Rust crate and a C file with the C interface, and a Python class. The
examples are LRU and must equal the built-in one; a breach of the contract is reported in one
line."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest
import swaplab as sl
from swaplab.core import experiment as experiments
from swaplab.core import policy as python_policy
from swaplab.worlds import run as run_points
from swaplab.worlds.result import Options
from swaplab.worlds.sweep.store import Store

ROOT = Path(__file__).parent.parent.parent
SWAPLAB = Path(sys.executable).parent / "swaplab"
DATA = ROOT / "python" / "swaplab" / "data"
PYTHON = ROOT / "examples" / "mine.py"
COUNTS = ("references", "faults", "swap_reads", "swap_writes", "file_reads", "file_writes")

#: A FIFO in C; each `FAULT_` breaks the contract in one way.
FIFO = r"""
#include <stdlib.h>
#include <string.h>
#include "swaplab_policy.h"
#ifndef VERSION
#define VERSION SWAPLAB_POLICY_VERSION
#endif
struct fifo { size_t pages, first, end; uint32_t *ring; };
static void *build(const swaplab_setup *setup, const swaplab_text *values, swaplab_host *host) {
#ifdef FAULT_BUILD
    host->fail(host, (swaplab_text)SWAPLAB_TEXT("no luck\ntoday"));
    return NULL;
#endif
    struct fifo *fifo = calloc(1, sizeof *fifo);
    fifo->pages = setup->frames + 1;
    fifo->ring = calloc(fifo->pages, sizeof(uint32_t));
    (void)values; (void)host;
    return fifo;
}
static void destroy(void *state) { struct fifo *fifo = state; free(fifo->ring); free(fifo); }
static void nothing(void *state, uint32_t page, uint32_t op, swaplab_host *host) {
    (void)state; (void)page; (void)op; (void)host;
#ifdef FAULT_TOUCH
    host->release(host, page);
#endif
}
static void reclaim(void *state, uint32_t page, uint32_t op, swaplab_host *host) {
    struct fifo *fifo = state;
#if defined FAULT_NONE
    return;
#elif defined FAULT_ABSENT
    host->release(host, page);
#elif defined FAULT_RANGE
    host->release(host, 4000000000u);
#elif defined FAULT_TWICE
    host->release(host, fifo->ring[fifo->first]);
#endif
    host->release(host, fifo->ring[fifo->first]);
    fifo->first = (fifo->first + 1) % fifo->pages;
    (void)page; (void)op;
}
static void insert(void *state, uint32_t page, uint32_t op, swaplab_host *host) {
    struct fifo *fifo = state;
    fifo->ring[fifo->end] = page;
    fifo->end = (fifo->end + 1) % fifo->pages;
    (void)op; (void)host;
}
static void forget(void *state, uint32_t page, swaplab_host *host) { (void)state; (void)page; (void)host; }
static const swaplab_policy POLICIES[] = {{SWAPLAB_TEXT("ring"), SWAPLAB_TEXT("first in, first out"), SWAPLAB_TEXT("a test"), 2, NULL, 0,
    build, destroy, nothing, nothing, reclaim, insert, forget}};
static const swaplab_library LIBRARY = {VERSION, 1, POLICIES};
const swaplab_library *swaplab_policies(void) {
#ifdef FAULT_NULL
    return NULL;
#endif
    return &LIBRARY;
}
"""


def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(SWAPLAB), *map(str, arguments)], capture_output=True, text=True, cwd=cwd, timeout=120)


def document(*arguments: object) -> dict:
    done = run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def counts(row: dict) -> list[float]:
    """Return the figures that depend on the policy: page traffic and its time."""
    return [*(row["paging"][key] for key in COUNTS), row["time"]["io_ns"]]


def refusal(*arguments: object, cwd: Path | None = None) -> str:
    """Return the one-line message of bad input."""
    done = run(*arguments, cwd=cwd)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), (done.returncode, done.stdout, done.stderr)
    return done.stderr


def cargo(crate: Path) -> Path:
    if not shutil.which("cargo"):
        pytest.skip("cargo is missing: no Rust plug-in can be built")
    target = ROOT / "target" / "plugins"
    command = ["cargo", "build", "--quiet", "--release", "--offline", "--manifest-path", crate / "Cargo.toml", "--target-dir", target]
    subprocess.run(command, check=True, timeout=300)
    return target / "release"


@pytest.fixture(scope="session")
def library() -> Path:
    """The example crate, built as by its author."""
    return cargo(ROOT / "examples" / "rust-policy") / "libmine.so"


@pytest.fixture
def in_c(tmp_path: Path) -> Callable[..., Path]:
    if not shutil.which("cc"):
        pytest.skip("a C compiler is missing")

    def build(*defines: str) -> Path:
        (tmp_path / "ring.c").write_text(FIFO)
        path = tmp_path / "ring.so"
        include = ROOT / "crates" / "plugin" / "include"
        flags = ["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror=incompatible-pointer-types", f"-I{include}"]
        subprocess.run(["cc", *flags, *(f"-D{one}" for one in defines), "-o", path, tmp_path / "ring.c"], check=True, capture_output=True)
        return path

    return build


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.csv"
    path.write_text("page,op\n" + "".join(f"{(at * at + at // 7) % 61},{'RWI'[at % 3]}\n" for at in range(900)))
    return path


TRACES = sorted(path.stem for path in DATA.glob("*.slt"))
#: Traces that take longest.
LONG = ("chromium",)


@pytest.mark.parametrize("options", [[], ["--mapping", "ignore", "--signal", "reference-bit:500"], ["--swap", "zram"]], ids=str)
@pytest.mark.parametrize("trace", [pytest.param(name, marks=pytest.mark.long) if name in LONG else name for name in TRACES])
def test_lru_as_a_plug_in_is_lru(library: Path, trace: str, options: list[str]) -> None:
    policies = ["lru", f"{library}:mine", f"{PYTHON}:Mine"]
    rows = document("replay", DATA / f"{trace}.slt", "--policy", ",".join(policies), "--memory", "5%,20%", *options)["rows"]
    assert {row["policy"] for row in rows} == set(policies)
    sizes = {row["replay"]["frames"] for row in rows}
    assert len(sizes) == 2
    for size in sizes:
        found = [counts(row) for row in rows if row["replay"]["frames"] == size]
        assert len(found) == len(policies) and found.count(found[0]) == len(found), size


def test_parameters_and_page_states_reach_a_plug_in(library: Path) -> None:
    policies = f"lru,{library}:mine:protect=64,{PYTHON}:Mine:protect=64"
    plain, rust, python = document("replay", DATA / "djpeg.slt", "--policy", policies, "--memory", "10%")["rows"]
    assert counts(rust) == counts(python)
    assert rust["paging"]["swap_writes"] < plain["paging"]["swap_writes"]
    assert "a usize" in refusal("replay", DATA / "djpeg.slt", "--policy", f"{library}:mine:protect=x", "--memory", "10%")
    assert "a value such as 0" in refusal("replay", DATA / "djpeg.slt", "--policy", f"{PYTHON}:Mine:protect=x", "--memory", "10%")
    for file, name in ((library, "mine"), (PYTHON, "Mine")):
        said = refusal("replay", DATA / "djpeg.slt", "--policy", f"{file}:{name}:protct=1", "--memory", "10%")
        assert "unknown parameter 'protct'; expected 'protect'" in said


def test_a_fault_only_plug_in_in_c_sees_faults_only(in_c: Callable[..., Path]) -> None:
    policies = f"fifo,{in_c()}:ring"
    fifo, ring = document("replay", DATA / "djpeg.slt", "--policy", policies, "--memory", "10%", "--mapping", "ignore")["rows"]
    assert counts(fifo) == counts(ring)


def test_mrc_and_sweep_take_plug_ins(library: Path, small: Path, tmp_path: Path) -> None:
    keys = ("lru", f"{library}:mine", f"{PYTHON}:Mine")
    curve, *own = (document("trace", "mrc", small, "--policy", key, "--sizes", "7")["points"] for key in keys)
    assert all([p["miss_ratio"] for p in one] == pytest.approx([p["miss_ratio"] for p in curve]) for one in own)
    # Files in the experiment's folder are found from any working directory.
    folder = tmp_path / "study"
    folder.mkdir()
    shutil.copy(library, folder / "libmine.so")
    shutil.copy(PYTHON, folder / "mine.py")
    shutil.copy(small, folder)
    policies = '["lru", "libmine.so:mine", "mine.py:Mine:protect=0"]'
    vary = f'[vary]\n"machine.dram" = ["20%", "60%"]\n"design.own.policy" = {policies}\n'
    (folder / "e.toml").write_text(f'[[design]]\nname = "own"\npolicy = "mine.py:Mine"\n[workload]\ntrace = "small.csv"\n{vary}')
    found = document("run", folder / "e.toml", "-o", tmp_path / "out", "--jobs", "2")["rows"]
    assert len(found) == 6
    for size in ("20%", "60%"):
        same = [counts(row) for row in found if row["point"]["machine.dram"] == size]
        assert same == same[:1] * 3
    # An edited policy is a different point.
    place = tmp_path / "parts"

    def parts() -> set[str]:
        run_points(experiments.read(folder / "e.toml"), Options(jobs=1), None, Store(place, resume=True))
        return {path.stem for path in (place / "parts").glob("*.json")}

    before = parts()
    assert parts() == before and len(before) == 6
    (folder / "mine.py").write_text(PYTHON.read_text() + "\n# edited\n")
    after = parts()
    assert before < after and len(after) == 8, "the two points of the edited class ran again, the four others did not"


def test_the_python_api_takes_a_class_and_a_key(small: Path) -> None:
    class Newest:
        """A policy that evicts the newest page."""

        def __init__(self, setup: object) -> None:
            self.pages: dict[int, None] = {}

        def referenced(self, pages: memoryview, ops: bytes) -> None:
            assert len(pages) == len(ops) and pages.format == "I"
            for page in pages:
                self.pages.setdefault(page)

        def reclaim(self, incoming: int | None, pages: object) -> list[int]:
            assert incoming is not None and not pages.is_resident(incoming)  # type: ignore[attr-defined]
            return [self.pages.popitem()[0]]

        def forget(self, pages: memoryview) -> None:
            raise AssertionError("nothing is unmapped here")

    trace = sl.Trace.open(small)
    points = trace.replay([Newest, f"{PYTHON}:Mine", "lru"], "50%").rows()
    faults = dict(points.select("policy", "paging.faults").iter_rows())
    assert faults[f"{PYTHON}:Mine"] == faults["lru"] != faults[next(key for key in faults if key.endswith("Newest"))]


@pytest.mark.parametrize(("text", "newest"), [("on", True), ("true", True), ("off", False), ("false", False)])
def test_a_parameter_of_a_class_is_switched_on_and_off(small: Path, tmp_path: Path, text: str, newest: bool) -> None:
    file = tmp_path / "either.py"
    file.write_text(
        "class Either:\n"
        "    def __init__(self, setup, *, newest=False): self.newest, self.pages = newest, {}\n"
        "    def referenced(self, pages, ops):\n"
        "        for page in pages: self.pages.setdefault(page)\n"
        "    def reclaim(self, incoming, pages):\n"
        "        page = next(reversed(self.pages)) if self.newest else next(iter(self.pages))\n"
        "        del self.pages[page]\n"
        "        return page\n"
        "    def forget(self, pages): pass\n"
    )
    trace = sl.Trace.open(small)
    one, fifo = trace.replay([f"{file}:Either:newest={text}", "fifo"], "50%").rows()["paging.faults"]
    assert (one != fifo) is newest
    assert "expected on or off" in refusal("replay", small, "--policy", f"{file}:Either:newest=maybe", "--memory", "50%", cwd=tmp_path)


def test_an_unusable_library_is_refused_by_name(in_c: Callable[..., Path], library: Path, small: Path, tmp_path: Path) -> None:
    def refusal_of(policy: object) -> str:
        return refusal("replay", small, "--policy", policy, "--memory", "50%", cwd=tmp_path)

    assert "./no.so: No such file" in refusal_of("./no.so:mine")
    (tmp_path / "text.so").write_text("not a library")
    assert "text.so: " in refusal_of("text.so:mine") and "expected a policy library" in refusal_of("text.so:mine")
    subprocess.run(["cc", "-shared", "-o", tmp_path / "empty.so", "-x", "c", "/dev/null"], check=True)
    assert "exports no function swaplab_policies; expected a policy library" in refusal_of("empty.so:mine")
    assert "policy interface of version 7; expected version 1" in refusal_of(f"{in_c('VERSION=7')}:ring")
    assert "no policies" in refusal_of(f"{in_c('FAULT_NULL')}:ring")
    assert "unknown policy 'mien'; expected 'mine' (did you mean that?)" in refusal_of(f"{library}:mien")
    assert "no policy named; expected" in refusal_of(library) and ":NAME, one of: mine" in refusal_of(library)
    assert "ring.so:ring: no luck today" in refusal_of(f"{in_c('FAULT_BUILD')}:ring")


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("NONE", "released no page when asked for one; expected a policy that keeps its contract"),
        ("ABSENT", "which is not in memory; expected a policy that keeps its contract"),
        ("RANGE", "released page 4000000000, which is not in memory"),
        ("TWICE", "which is not in memory"),
        ("TOUCH", "where nothing may be released"),
    ],
)
def test_a_library_that_breaks_the_contract_ends_the_replay(in_c: Callable[..., Path], small: Path, fault: str, why: str) -> None:
    assert why in refusal("replay", small, "--policy", f"{in_c('FAULT_' + fault)}:ring", "--memory", "30p")


def test_a_panic_is_one_line(small: Path, tmp_path: Path) -> None:
    source = (ROOT / "examples" / "rust-policy" / "src" / "lib.rs").read_text()
    manifest = (ROOT / "examples" / "rust-policy" / "Cargo.toml").read_text()
    crate = tmp_path / "crate"
    (crate / "src").mkdir(parents=True)
    (crate / "Cargo.toml").write_text(manifest.replace('"mine"', '"panics"').replace("../..", str(ROOT)) + "\n[workspace]\n")
    assert source.count("pages.release(victim);") == 1
    (crate / "src" / "lib.rs").write_text(source.replace("pages.release(victim);", "pages.is_dirty(1 << 30); pages.release(victim);"))
    said = refusal("replay", small, "--policy", f"{cargo(crate) / 'libpanics.so'}:mine", "--memory", "50%")
    assert "panicked at" in said and "page 1073741824 is not below the number of pages, 61" in said


PYTHON_FAULTS = {
    "no such file": ("", "no.py:Mine", "no.py: no such file"),
    "syntax": ("class Mine:\n    def\n", "bad.py:Mine", "bad.py: line 2: invalid syntax"),
    "import": ("import nothing_of_the_sort\n", "bad.py:Mine", "No module named 'nothing_of_the_sort' (bad.py, line 1)"),
    "no policy": ("x = 1\n", "bad.py:Mine", "bad.py: no class with referenced, reclaim, forget; expected a policy"),
    "unknown": ("MINE", "bad.py:Mien", "unknown policy 'Mien'; expected 'Mine'"),
    "unnamed": ("MINE", "bad.py", "no policy named; expected bad.py:NAME, one of: Mine"),
    "method": ("class Mine:\n    def reclaim(self, incoming, pages): ...\n", "bad.py:Mine", "no method 'referenced'"),
    "init": ("MINEself.protect = protect/raise ValueError('bad luck')", "bad.py:Mine", "ValueError: bad luck (bad.py, line "),
    "raises": ("MINEwindow = /window = 1 / 0 or ", "bad.py:Mine", "ZeroDivisionError: division by zero (bad.py, line "),
    "none": ("MINEreturn victim/return None", "bad.py:Mine", "reclaim returned None, not a page or a list of pages"),
    "empty": ("MINEreturn victim/return []", "bad.py:Mine", "reclaim returned no page"),
    "absent": ("MINEreturn victim/return incoming", "bad.py:Mine", "which is not in memory; expected a policy that keeps its contract"),
    "range": ("MINEreturn victim/return 10**6", "bad.py:Mine", "released page 1000000, which is not in memory"),
    "later": ("MINEself.order = OrderedDict()/self.order, self.p = OrderedDict(), None", "bad.py:Mine:protect=1", ""),
    "signal": ("MINEdef reclaim/signal = 'exat'\n\n    def reclaim", "bad.py:Mine", "unknown signal 'exat'; expected 'exact'"),
    "given": ("", "python:Mine", "no class was given to this process; expected FILE.py:NAME"),
}


@pytest.mark.parametrize("fault", PYTHON_FAULTS)
def test_a_class_that_breaks_the_contract_ends_the_replay(small: Path, tmp_path: Path, fault: str) -> None:
    code, policy, why = PYTHON_FAULTS[fault]
    if fault == "later":
        code = PYTHON.read_text().replace("del self.order[victim]", "self.p = pages; del self.order[victim]")
        code = code.replace(
            "        for page in pages:\n", "        hasattr(self, 'p') and self.p.is_dirty(0)\n        for page in pages:\n", 1
        )
        why = "RuntimeError: pages can be read during reclaim only"
    elif code.startswith("MINE"):
        old, _, new = code.removeprefix("MINE").partition("/")
        assert old in PYTHON.read_text()
        code = PYTHON.read_text().replace(old, new, 1) if old else PYTHON.read_text()
    if code:
        (tmp_path / "bad.py").write_text(code)
    said = refusal("replay", small, "--policy", policy, "--memory", "30p", cwd=tmp_path)
    assert why in said


def slow_replay(folder: Path) -> subprocess.Popen[str]:
    """Start a replay whose policy writes the file `begun` and then sleeps."""
    sleep = "def reclaim(self, incoming, pages):\n        import time; open('begun', 'w').close(); time.sleep(9)"
    (folder / "slow.py").write_text(PYTHON.read_text().replace("def reclaim(self, incoming, pages):", sleep))
    command = [SWAPLAB, "replay", DATA / "djpeg.slt", "--policy", f"{folder}/slow.py:Mine", "--memory", "5%", "--jobs", "1"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)


def test_ctrl_c_in_a_class_ends_with_130(tmp_path: Path) -> None:
    process = slow_replay(tmp_path)
    try:
        deadline = time.monotonic() + 60
        while not (tmp_path / "begun").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, out, error.count("\n")) == (130, "", 1), error


@pytest.mark.parametrize("milliseconds", [150, 300, 450, 600])
def test_ctrl_c_while_the_command_starts_ends_it(tmp_path: Path, milliseconds: int) -> None:
    """The interrupt is not lost during any import and shows no traceback."""
    process = slow_replay(tmp_path)
    try:
        time.sleep(milliseconds / 1000)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130 and error.count("\n") == 1, error


def test_parameters_of_a_class_are_its_keyword_only_arguments_with_a_default() -> None:
    class Mine:
        """Two lines, of which the first is shown.

        And this one is not.
        """

        signal = "fault-only"

        def __init__(self, setup: object, size: int = 3, *, bits: int = 2, name: str = "x", needed: int) -> None: ...
        def referenced(self) -> None: ...
        def reclaim(self) -> None: ...
        def forget(self) -> None: ...

    assert python_policy.describe(Mine) == ("Two lines, of which the first is shown.", "fault-only", [("bits", "2"), ("name", "x")])
    del Mine.forget
    with pytest.raises(python_policy.Unfit, match="no method 'forget'"):
        python_policy.describe(Mine)


def test_a_policy_cannot_change_what_it_is_built_for():
    setup = python_policy.Setup(8, 4, 1, 1, 1, 1, 0)
    with pytest.raises(FrozenInstanceError):
        setup.frames = 8  # type: ignore[misc]
