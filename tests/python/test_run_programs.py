"""Real programs on a quarter, a half and three quarters of their native anonymous memory.

Their output must be the same, with swap-outs, and the kernel's count of their memory within the
budget. The first four run in `make test`, all in `make soak`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from rss import MIB, assert_the_budget_holds, watched
from test_run import SQL, program, pytestmark  # noqa: F401

HERE = Path(__file__).parent / "paged"
SHARES = (0.25, 0.5, 0.75)

NODE = """const m = new Map(); for (let i = 0; i < 150000; i++) m.set('k' + i, {v: i, s: 'x'.repeat(i % 50)});
let h = 0; for (const [k, v] of m) h = (h * 31 + v.v + v.s.length) >>> 0; console.log(h, m.size);
const a = []; for (let i = 0; i < 20; i++) a.push(Buffer.alloc(1 << 20, i)); console.log(a.reduce((x, b) => x + b[1000], 0));
"""
JAVA = """import java.util.*;
public class Fill { public static void main(String[] a) { Map<Integer, byte[]> m = new HashMap<>(); long h = 0; Random r = new Random(1);
for (int i = 0; i < 120000; i++) m.put(r.nextInt(40000), new byte[r.nextInt(2000)]);
for (var e : m.values()) h = h * 31 + e.length; System.out.println(h + " " + m.size()); } }
"""
PYTHON = "d = {i: str(i) * 7 for i in range(200000)}; print(sum(len(v) for v in d.values()), hash(tuple(d)))"
PERL = "my %h; $h{$_} = 'x' x ($_ % 200) for 1..150000; my $s = 0; $s += length $h{$_} for keys %h; print \"$s\\n\";"
RUBY = "h = {}; 200000.times { |i| h[i] = 'x' * (i % 200) }; puts h.values.sum(&:size)"
PHP = """<?php ini_set('memory_limit', '1G'); $h = [];
for ($i = 0; $i < 300000; $i++) $h[] = str_repeat('x', $i % 200);
echo array_sum(array_map('strlen', $h));
"""
GO = """package main
// #include <stdlib.h>
import "C"
import "fmt"
func main() {
	m := map[int][]byte{}
	for i := 0; i < 60000; i++ { b := make([]byte, 200+i%1800); b[i%200] = byte(i); m[i%30000] = b }
	s := 0
	for i := 0; i < 30000; i++ { s += len(m[i]) + int(m[i][(i+30000)%200]) }
	fmt.Println(s, len(m))
}
"""
RUST = 'fn main() { let v: Vec<String> = (0..10).map(|i| format!("{i:?}")).collect(); println!("{}", v.concat()); }\n'


def node(place: Path) -> list[str]:
    return [program("node"), "-e", NODE]


def java(collector: str) -> Callable[[Path], list[str]]:
    def command(place: Path) -> list[str]:
        (place / "Fill.java").write_text(JAVA)
        subprocess.run([program("javac"), "-d", place, place / "Fill.java"], check=True)
        return [program("java"), "-Xmx120m", collector, "-cp", str(place), "Fill"]

    return command


def python3(place: Path) -> list[str]:
    return ["/usr/bin/env", "PYTHONHASHSEED=0", program("python3"), "-c", PYTHON]


def sqlite3(place: Path) -> list[str]:
    (place / "input.sql").write_text(SQL)
    return ["/bin/sh", "-c", f"exec {program('sqlite3')} :memory: < {place}/input.sql"]


def perl(place: Path) -> list[str]:
    return [program("perl"), "-e", PERL]


def ruby(place: Path) -> list[str]:
    return [program("ruby"), "-e", RUBY]


def php(place: Path) -> list[str]:
    (place / "fill.php").write_text(PHP)
    return [program("php"), str(place / "fill.php")]


def gcc(place: Path) -> list[str]:
    body = "int s = {0}; for (int i = 0; i < n; i++) s = s * 31 + a[i] % ({0} + 3); return s;"
    (place / "large.c").write_text("\n".join(f"int f{i}(int *a, int n) {{ {body.format(i)} }}" for i in range(1500)))
    return [program("gcc"), "-O2", "-S", "-o", "-", str(place / "large.c")]


def cargo(place: Path) -> list[str]:
    (place / "src").mkdir()
    (place / "src" / "main.rs").write_text(RUST)
    (place / "Cargo.toml").write_text('[package]\nname = "small"\nversion = "0.1.0"\nedition = "2021"\n')
    build = f"{program('cargo')} build -q --offline --target-dir {place}/$$ && {place}/$$/debug/small"
    return ["/bin/sh", "-c", f"cd {place} && {build}"]


def git_gc(place: Path) -> list[str]:
    git = f"{program('git')} -C {place}/r -c user.name=a -c user.email=a@b -c gc.autoDetach=false"
    subprocess.run(f"mkdir {place}/r && {git} init -q", shell=True, check=True)
    for commit in range(3):
        for n in range(400):
            (place / "r" / f"f{n}").write_text("".join(f"line {n} {i * (commit + 1)}\n" for i in range(500)))
        subprocess.run(f"{git} add -A && {git} commit -qm {commit}", shell=True, check=True)
    check = f"{git} gc -q --aggressive --prune=now && {git} fsck --no-progress && {git} rev-parse HEAD && {git} ls-tree -r HEAD"
    return ["/bin/sh", "-c", check]


def media(place: Path) -> list[str]:
    filters = ["-f", "lavfi", "-i", "testsrc2=size=1280x720:rate=10:duration=2", "-c:v", "libx264", "-threads", "1", "-f", "framemd5", "-"]
    return [program("ffmpeg"), "-v", "error", "-fflags", "+bitexact", "-flags", "+bitexact", *filters]


def go(place: Path) -> list[str]:
    (place / "main.go").write_text(GO)
    environment = os.environ | {"CGO_ENABLED": "1", "GOFLAGS": "-mod=mod", "GOCACHE": str(place / "cache")}
    built = subprocess.run([program("go"), "build", "-o", "fill", "main.go"], cwd=place, capture_output=True, env=environment)
    if built.returncode:
        pytest.skip("this go cannot build with cgo, without which its programs are static")
    return [str(place / "fill")]


def chromium(place: Path, zygote: bool = False) -> list[str]:
    page = place / "page.html"
    page.write_text(
        "<script>let a=[];for(let i=0;i<400000;i++)a.push({i,s:'x'+i});document.write(a.reduce((s,o)=>s+o.s.length,0))</script>"
    )
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={place}/profile", "--dump-dom"]
    return [program("chromium"), *([] if zygote else ["--no-zygote"]), *options, page.as_uri()]


QUICK = {"node": node, "java": java("-XX:+UseSerialGC"), "python3": python3, "sqlite3": sqlite3}
SLOW = {
    "java-g1": java("-XX:+UseG1GC"), "perl": perl, "ruby": ruby, "php": php, "gcc": gcc, "cargo": cargo, "git-gc": git_gc, "media": media,
    "go": go, "chromium": chromium,
}  # fmt: skip


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", [*QUICK, *SLOW])
def test_a_program_on_shares_of_its_memory(tmp_path, name):
    if name in SLOW and "SWAPLAB_SOAK_SECONDS" not in os.environ:
        pytest.skip("minutes long: make soak")
    command = (QUICK | SLOW)[name](tmp_path)
    native = watched(command, None)
    assert native.code == 0, native.err
    whole = max(native.anonymous.values())
    for share in SHARES:
        dram = max(int(share * whole), MIB)
        run = watched(command, dram, timeout=900)
        assert (run.code, run.out) == (0, native.out), (share, run.stood, run.err[-2000:])
        peak = max(run.anonymous.values()) / MIB
        print(f"{name}: native {whole / MIB:.1f} MiB {native.seconds:.1f} s; {share}: peak {peak:.1f}, {run.seconds:.1f} s", end=" ")
        print({key: run.stats[key] for key in ("swap_outs", "unmanaged_peak_bytes", "dram_peak_bytes")}, len(run.accounts), "accounts")
        assert_the_budget_holds(run, dram)
        shutil.rmtree(tmp_path / "profile", ignore_errors=True)


def test_chromium_with_a_zygote(tmp_path):
    """Its zygote, which may have one thread only, forks the other processes. The browser's process
    and the one that has the page are paged.
    """
    command = chromium(tmp_path, zygote=True)
    native = watched(command, None, timeout=120)
    assert native.code == 0, (native.err[-2000:], native.stood)
    shutil.rmtree(tmp_path / "profile", ignore_errors=True)
    run = watched(command, 16 * MIB, timeout=120)
    assert (run.code, run.out) == (0, native.out), (run.stood, run.err[-2000:])
    assert len([process for process in run.stats["processes"] if process["swap_outs"] > 100]) >= 2, run.stats
    assert run.accounts, run.stats
    for managed, unmanaged, anonymous in run.accounts:
        assert abs(managed + unmanaged - anonymous) <= max(anonymous / 100, MIB), (managed, unmanaged, anonymous)


def test_one_processor_for_the_program_and_its_pager(tmp_path):
    """Without a free core, the pager and the program take turns: the budget holds, but for what is
    written while the pager waits.
    """
    cpu = min(os.sched_getaffinity(0))
    command = ["/usr/bin/env", "PYTHONHASHSEED=0", program("taskset"), "-c", str(cpu), program("python3"), "-c", PYTHON]
    native = watched(command, None)
    dram = max(native.anonymous.values()) // 2
    run = watched(command, dram)
    assert (run.code, run.out) == (0, native.out), run.err[-2000:]
    assert_the_budget_holds(run, dram)
