"""`swaplab exec`: real programs on less DRAM give their native output; no data is lost, and no
files are left behind.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from swaplab import NotSupported
from swaplab._core import pager_check

HERE = Path(__file__).parent / "paged"
SWAPLAB = Path(sys.executable).parent / "swaplab"

try:
    pager_check("nvm-direct", "refault", "")
    pytestmark = []
except NotSupported as missing:
    pytestmark = [pytest.mark.skip(reason=f"no pager on this machine: {missing}")]

SQL = """create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i+1 from n where i<60000)
insert into t select i, hex(i*2654435761 % 4294967296)||'payload'||i, i*0.5 from n;
create index tb on t(b); update t set c=c+1 where a%7=0;
select count(*), sum(c), min(b), max(b), sum(length(b)) from t; select a from t where b like '3%' order by b limit 5;
"""
NODE = """const m = new Map(); for (let i = 0; i < 150000; i++) m.set('k' + i, {v: i, s: 'x'.repeat(i % 50)});
let h = 0; for (const [k, v] of m) h = (h * 31 + v.v + v.s.length) >>> 0; console.log(h, m.size);
const a = []; for (let i = 0; i < 20; i++) a.push(Buffer.alloc(1 << 20, i)); console.log(a.reduce((x, b) => x + b[1000], 0));
"""


def program(name: str) -> str:
    """Find a program of this machine; without it, skip the test."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


LATE = re.compile(rb"^swaplab: process \d+: .* while its pager got no processor or was slowed down\n", re.MULTILINE)


def paged(
    command: list[str], dram: str, *options: str, stats: Path | None = None, timeout: float = 120, **more
) -> subprocess.CompletedProcess:
    """Run a command under the pager. The line about a pager that was not scheduled is removed, as
    it depends on the machine's load.
    """
    extra = ["--stats", str(stats)] if stats else []
    call = [SWAPLAB, "exec", "--dram", dram, *options, *extra, "--", *command]
    run = subprocess.run(call, capture_output=True, timeout=timeout, **more)
    run.stderr = LATE.sub(b"", run.stderr)
    return run


def same_at(tmp_path: Path, command: list[str], sizes: tuple[int, ...], *options: str, **more) -> list[dict]:
    """Assert that output and exit code equal the native run's at each budget (MiB). Returns the
    counters of each run.
    """
    native = subprocess.run(command, capture_output=True, timeout=120, **more)
    documents = []
    for size in sizes:
        run = paged(command, f"{size}MiB", *options, stats=tmp_path / "stats.json", **more)
        assert (run.stdout, run.returncode) == (native.stdout, native.returncode), run.stderr[-2000:]
        documents.append(json.loads((tmp_path / "stats.json").read_text()))
    return documents


#: Those with a file are slower.
SCHEMES = ["nvm-direct", "nvm-copy", "zram", "zram:algorithm=zstd"]
SCHEMES += [pytest.param(scheme, marks=pytest.mark.long) for scheme in ("flash", "nvm-cache:nvm=2MiB,replacement=lfu")]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_sqlite_on_a_quarter_to_three_quarters(tmp_path, scheme):
    found = same_at(tmp_path, [program("sqlite3"), ":memory:"], (3, 6, 8), "--swap", scheme, input=SQL.encode())
    assert found[0]["swap_outs"] > found[2]["swap_outs"] > 0
    assert (found[0]["direct_reads"] > 100) == (scheme == "nvm-direct")
    assert found[0]["copied_pages"] > 0 and found[0]["dram_limit_bytes"] == 3 << 20
    assert len(found[0]["processes"]) == 1 and found[0]["processes"][0]["state"] == 2


@pytest.mark.long
def test_node_and_a_compiler(tmp_path):
    assert all(document["swap_outs"] > 0 for document in same_at(tmp_path, [program("node"), "-e", NODE], (8, 24)))
    source = tmp_path / "large.c"
    lines = (
        f"int f{i}(int *a, int n) {{ int s = {i}; for (int i = 0; i < n; i++) s = s * 31 + a[i] % ({i} + 3); return s; }}"
        for i in range(800)
    )
    source.write_text("\n".join(lines))
    found = same_at(tmp_path, [program("gcc"), "-O2", "-S", "-o", "-", str(source)], (8,))
    assert found[0]["swap_outs"] > 0 and len(found[0]["processes"]) > 1, "the compiler proper is a child, with a budget of its own"


@pytest.mark.long
def test_python_runs_its_own_tests(tmp_path):
    python = program("python3")
    probe = subprocess.run([python, "-c", "import test.test_gc"], capture_output=True)
    if probe.returncode:
        pytest.skip("this python3 comes without its own tests")
    modules = ["test_dict", "test_list", "test_gc"]
    if "SWAPLAB_SOAK_SECONDS" in os.environ:
        modules += ["test_json", "test_re", "test_threading"]
    results = []
    for prefix in ([], [SWAPLAB, "exec", "--dram", "6MiB", "--stats", str(tmp_path / "stats.json"), "--"]):
        run = subprocess.run(
            [*prefix, python, "-m", "test", "-r", "--randseed", "1", *modules], capture_output=True, text=True, timeout=300
        )
        lines = [line for line in run.stdout.splitlines() if line.startswith(("Total tests", "Result"))]
        # A line of progress also has the time and the machine's load.
        results.append((lines, re.findall(r"test_\w+ failed \(.*?\)", run.stdout)))
    assert results[0] == results[1]
    assert json.loads((tmp_path / "stats.json").read_text())["swap_outs"] > 1000


def test_redis_keeps_every_value_also_in_the_dump_of_its_child(tmp_path):
    server = program("redis-server")
    port = str(20000 + os.getpid() % 20000)
    options = ["--port", port, "--dir", str(tmp_path), "--save", "", "--enable-debug-command", "yes"]
    stats = tmp_path / "stats.json"
    with subprocess.Popen(
        [SWAPLAB, "exec", "--dram", "6MiB", "--stats", str(stats), "--", server, *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as running:
        try:
            client = subprocess.run([sys.executable, HERE / "redis_client.py", port, "12000"], capture_output=True, text=True, timeout=120)
        finally:
            if running.poll() is None:
                running.terminate()
        assert client.stdout == "verified 12000\n", client.stderr
    document = json.loads(stats.read_text())
    assert document["swap_outs"] > 1000 and document["forks"] >= 1


@pytest.fixture(scope="session")
def stress(tmp_path_factory) -> Path:
    """The stress program, compiled."""
    target = tmp_path_factory.mktemp("stress") / "stress"
    subprocess.run([program("gcc"), "-O1", "-pthread", "-o", target, HERE / "stress.c"], check=True)
    return target


SECONDS = os.environ.get("SWAPLAB_SOAK_SECONDS", "2")


@pytest.mark.parametrize("scheme", ["nvm-direct", pytest.param("nvm-copy", marks=pytest.mark.long)])
def test_four_threads_lose_no_write(tmp_path, stress, scheme):
    assert subprocess.run([stress, "1", "8"], capture_output=True).returncode == 0, "the program itself is wrong"
    run = paged([str(stress), SECONDS, "16"], "9MiB", "--swap", scheme, stats=tmp_path / "s.json", timeout=60 + 2 * int(SECONDS))
    assert run.returncode == 0, (run.stdout, run.stderr)
    document = json.loads((tmp_path / "s.json").read_text())
    assert document["swap_outs"] > 2000 and document["forks"] > 0


def test_without_write_protection_writes_are_lost(stress):
    """The control: without write protection, the same program must detect losses."""
    attempts = 10
    for _ in range(attempts):
        run = paged([str(stress), "3", "16"], "9MiB", env=os.environ | {"SWAPLAB_UNPROTECTED": "1"})
        if run.returncode == 1:
            return
    pytest.fail(f"no write was lost in {attempts} runs of 3 s without protection")


def test_exit_codes_signals_and_nothing_left_behind(tmp_path):
    assert paged(["/bin/sh", "-c", "exit 7"], "8MiB").returncode == 7
    assert paged(["/bin/sh", "-c", "kill -9 $$"], "8MiB").returncode == 137
    base = tmp_path / "runtime"
    base.mkdir(mode=0o700)
    child = subprocess.Popen(
        [SWAPLAB, "exec", "--dram", "8MiB", "--", "/bin/sleep", "30"],
        env=os.environ | {"XDG_RUNTIME_DIR": str(base)},
        start_new_session=True,
    )
    # The statistics file exists before it is filled, so an early reader sees no process.
    deadline, limits = time.monotonic() + 20, []
    while not limits and time.monotonic() < deadline:
        top = subprocess.run([SWAPLAB, "top", "--json"], env=os.environ | {"XDG_RUNTIME_DIR": str(base)}, capture_output=True, text=True)
        limits = [p["dram_limit_bytes"] for p in json.loads(top.stdout)["processes"]]
    assert limits == [8 << 20]
    os.killpg(child.pid, signal.SIGINT)
    assert child.wait(20) == 130
    assert not list(base.glob("swaplab-*/*")), "a run's statistics outlive it"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2])
def test_signals_to_exec_reach_the_program(number):
    waits = f"trap 'exit 7' {number.name[3:]}; echo ready; while :; do sleep 0.05; done"
    with subprocess.Popen([SWAPLAB, "exec", "--dram", "8MiB", "--", "/bin/sh", "-c", waits], stdout=subprocess.PIPE) as running:
        try:
            assert running.stdout is not None and running.stdout.readline() == b"ready\n"
            running.send_signal(number)
            assert running.wait(20) == 7
        finally:
            running.kill()


def test_a_program_ends_with_a_killed_exec():
    command = [SWAPLAB, "exec", "--dram", "8MiB", "--", "/bin/sh", "-c", "echo $$; while :; do sleep 0.05; done"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        place = Path("/proc") / running.stdout.readline().decode().strip()
        assert place.exists()
        running.kill()
        running.wait()
    deadline = time.monotonic() + 20
    while place.exists() and "Z (zombie)" not in (place / "status").read_text() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert time.monotonic() < deadline, "the program goes on"


def test_a_program_that_cannot_be_paged_is_refused_with_the_reason(tmp_path):
    static = tmp_path / "static"
    (tmp_path / "s.c").write_text("int main(void) { return 0; }")
    if subprocess.run([program("gcc"), "-static", "-o", static, tmp_path / "s.c"], capture_output=True).returncode == 0:
        run = paged([str(static)], "8MiB")
        assert run.returncode == 3 and b"statically linked" in run.stderr
        run = paged([str(static)], "8MiB", "--unmanaged", "warn")
        assert run.returncode == 0 and run.stderr.count(b"\n") == 1 and b"runs unmanaged" in run.stderr
    setuid = tmp_path / "setuid"
    shutil.copy("/bin/true", setuid)
    if os.geteuid() == 0:
        os.chown(setuid, 65534, -1)
        setuid.chmod(0o4755)
        run = paged([str(setuid)], "8MiB")
        assert run.returncode == 3 and b"set-uid" in run.stderr
    for options, code, word in (
        (["--policy", "lru"], 2, b"needs every reference; this world has only faults"),
        (["--policy", "refalt"], 2, b"refault"),
        (["--swap", "nvm-dirct"], 2, b"nvm-direct"),
        (["--medium", "clay"], 2, b"optane-m10"),
        (["--medium", "lpddr2-pcm"], 3, b"read in place"),
        (["--nvm", "/no/such"], 2, b"tmpfs"),
        (["--nvm", "node:1000"], 3, b"NUMA node"),
        (["--unmanaged", "maybe"], 2, b"refuse or warn"),
    ):
        run = paged(["/bin/true"], "8MiB", *options)
        assert (run.returncode, run.stderr.count(b"\n")) == (code, 1) and word in run.stderr, run.stderr
    assert paged(["/bin/true"], "5%").returncode == 2
    assert paged(["/no/such/program"], "8MiB").returncode == 2
    misspelt = paged(["/bin/true"], "8MiB", "--jsn", "x")
    assert misspelt.returncode == 2 and b"No such option: --jsn" in misspelt.stderr, misspelt.stderr
    assert b"swaplab exec --help" in misspelt.stderr


@pytest.mark.long
def test_a_shell_env_and_python_refuse_a_static_program_or_warn(tmp_path):
    static = tmp_path / "static"
    (tmp_path / "s.c").write_text("int main(void) { return 0; }")
    if subprocess.run([program("gcc"), "-static", "-o", static, tmp_path / "s.c"], capture_output=True).returncode:
        pytest.skip("the C compiler links no static program")
    opened = f"import os; fd = os.open('{static}', os.O_RDONLY)"
    by_descriptor = f"{opened}\ntry: os.execve(fd, ['static'], dict(os.environ))\nexcept OSError: os._exit(126)"
    starts = (["/bin/sh", "-c", f"{static}; exit $?"], ["/usr/bin/env", str(static)], [program("python3"), "-c", by_descriptor])
    for start in starts:  # execve, execvp and fexecve
        run = paged(start, "8MiB")
        assert run.returncode == 126 and b"statically linked" in run.stderr and b"not started" in run.stderr, run.stderr
        run = paged(start, "8MiB", "--unmanaged", "warn")
        assert run.returncode == 0 and run.stderr.count(b"runs unmanaged") == 1, run.stderr


def test_a_full_store_loses_nothing(tmp_path):
    """The program continues in DRAM up to twice its budget. Then allocations fail, and the reason
    is reported.
    """
    code = "x = [bytes([i % 256]) * 65536 for i in range(100)]; print(sum(b[-1] == i % 256 for i, b in enumerate(x)))"
    run = paged([program("python3"), "-c", code], "6MiB", "--swap", "nvm-direct:size=2MiB", stats=tmp_path / "s.json")
    document = json.loads((tmp_path / "s.json").read_text())
    assert run.returncode == 0 and run.stdout == b"100\n" and document["swap_outs"] > 0 and document["store_full"] > 0, run.stderr
    run = paged([program("python3"), "-c", code.replace("100", "900")], "6MiB", "--swap", "nvm-direct:size=2MiB")
    assert run.returncode != 0 and b"MemoryError" in run.stderr and b"the store is full" in run.stderr, (run.returncode, run.stderr[-500:])


@pytest.mark.parametrize("scheme", ["nvm-copy", "nvm-cache", "flash"])
def test_pages_of_one_instruction_do_not_evict_each_other_forever_with_a_full_store(tmp_path, scheme):
    """An app copies pages (one read, one written); DRAM and store together are as large as its
    memory.
    """
    app = [Path(SWAPLAB).parent / "swaplab-app", "--footprint", "12MiB", "--seed", "1", "--data", tmp_path / "data"]
    options = ("--swap", f"{scheme}:size=5461KiB")
    stats = tmp_path / "stats.json"
    run = paged([str(word) for word in app], "5MiB", *options, stats=stats, input=b"resume\nwork 300\nverify\nquit\n", timeout=60)
    assert json.loads(stats.read_text())["swap_outs"] > 1000
    assert run.returncode == 0 and run.stdout.count(b" bad=0\n") == 4, (run.stdout, run.stderr[-500:])
