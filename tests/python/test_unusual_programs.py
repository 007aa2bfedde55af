"""`swaplab exec` on unusual behavior of programs: each case must give the same output natively and
under the pager.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from rss import MIB
from test_run import HERE, paged, program, pytestmark  # noqa: F401

CASES = ["signals", "forks", "moves", "wiped", "locked", "unlocked", "limited", "rights", "heap", "allocations", "limits"]


@pytest.fixture(scope="session")
def unusual(tmp_path_factory):
    """The program of these cases, compiled with or without its own malloc."""

    def compiled(*options: str) -> str:
        target = tmp_path_factory.getbasetemp() / f"unusual{len(options)}"
        if not target.exists():
            subprocess.run([program("gcc"), "-O1", "-w", "-pthread", *options, "-o", target, HERE / "unusual.c"], check=True)
        return str(target)

    return compiled


@pytest.mark.parametrize("scheme", ["nvm-direct", pytest.param("zram", marks=pytest.mark.long)])
@pytest.mark.parametrize("case", CASES)
def test_an_unusual_program_behaves_as_natively(tmp_path, unusual, case, scheme):
    if case == "rights" and os.geteuid() != 0:
        pytest.skip("only root has rights to give up")
    native = subprocess.run([unusual(), case], capture_output=True, timeout=60)
    assert native.returncode == 0, native.stdout
    run = paged([unusual(), case], "8MiB", "--swap", scheme, stats=tmp_path / "s.json", timeout=60)
    # Memory with MADV_WIPEONFORK is left to the kernel and reported.
    told = run.stderr.count(b"were not managed") if case == "wiped" else 0
    assert (run.returncode, run.stdout, run.stderr.count(b"\n")) == (0, native.stdout, told), run.stderr
    counted = json.loads((tmp_path / "s.json").read_text())
    assert counted["swap_outs"] > 0
    assert case != "unlocked" or counted["dram_peak_bytes"] < 9 * MIB


@pytest.mark.parametrize("scheme", ["nvm-direct", "zram"])
def test_a_program_with_its_own_malloc_is_paged(tmp_path, unusual, scheme):
    run = paged([unusual("-DOWN_MALLOC"), "heap"], "8MiB", "--swap", scheme, stats=tmp_path / "s.json", timeout=60)
    assert (run.returncode, run.stdout) == (0, b"heap right\n"), run.stderr
    assert json.loads((tmp_path / "s.json").read_text())["swap_outs"] > 0


@pytest.mark.parametrize("kib", [1 << 20, 3_000_000, 8_000_000])
def test_a_limited_address_space_is_shared_with_the_program(tmp_path, unusual, kib):
    limited = ["/bin/sh", "-c", f"ulimit -v {kib}; exec {unusual()} moves"]
    run = paged(limited, "8MiB", stats=tmp_path / "s.json", timeout=60)
    assert (run.returncode, run.stdout) == (0, b"moves right\n"), run.stderr
    assert json.loads((tmp_path / "s.json").read_text())["swap_outs"] > 0


def test_a_peak_between_two_polls_is_counted(tmp_path, unusual):
    """40 of 64 MiB are used briefly. No pager thread runs, so the peak is only visible when the
    memory is freed.
    """
    (tmp_path / "p.c").write_text(PEAK)
    subprocess.run([program("gcc"), "-O1", "-o", tmp_path / "p", tmp_path / "p.c"], check=True)
    paged([str(tmp_path / "p")], "64MiB", stats=tmp_path / "s.json")
    document = json.loads((tmp_path / "s.json").read_text())
    assert 40 * MIB <= document["dram_peak_bytes"] <= 41 * MIB and document["anonymous_peak_bytes"] >= 40 * MIB
    assert document["anonymous_bytes"] < 5 * MIB and document["swap_outs"] == 0


PEAK = """#include <string.h>
#include <sys/mman.h>
int main(void)
{
	for (int i = 0; i < 3; i++) {
		size_t size = (size_t)(i == 1 ? 40 : 4) << 20;
		char *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(memory, 1, size);
		munmap(memory, size);
	}
}
"""


def test_memory_that_cannot_be_managed_is_reported_in_one_line(tmp_path: Path):
    """30 MiB of brk, which is not managed."""
    source = tmp_path / "b.c"
    source.write_text("#include <string.h>\n#include <unistd.h>\nint main(void) { memset(sbrk(30 << 20), 1, 30 << 20); return 0; }\n")
    subprocess.run([program("gcc"), "-O1", "-o", tmp_path / "b", source], check=True)
    run = paged([str(tmp_path / "b")], "8MiB", stats=tmp_path / "s.json")
    document = json.loads((tmp_path / "s.json").read_text())
    assert run.returncode == 0 and run.stderr.count(b"\n") == 1 and b"were not managed" in run.stderr, run.stderr
    assert 30 * MIB <= document["unmanaged_bytes"] <= 35 * MIB


LOADED = """#include <string.h>
#include <sys/mman.h>
#define SIZE (24 << 20)
unsigned char *memory;
__attribute__((constructor)) static void begin(void)
{
	memory = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int at = 0; at < SIZE; at += 4096)
		memset(memory + at, at >> 12, 4096);
	for (int at = 0; at < SIZE; at += 4096)
		if (memory[at + 7] != (unsigned char)(at >> 12))
			memory = 0;
}
int right(void) { return memory != 0; }
"""
LOADS = """#include <dlfcn.h>
int main(int count, char **words)
{
	void *library = dlopen(words[1], RTLD_NOW);
	return library && ((int (*)(void))dlsym(library, "right"))() ? 0 : 1;
}
"""


@pytest.mark.parametrize("scheme", ["nvm-direct", "nvm-copy", "zram", "flash", "nvm-cache"])
def test_a_constructor_of_a_loaded_library_may_outgrow_the_budget(tmp_path, scheme):
    """The loader holds its lock while the constructor runs, so the pager must not need it: OpenBLAS
    allocates when NumPy is imported."""
    for name, text, options in (("l.so", LOADED, ["-shared", "-fPIC"]), ("l", LOADS, ["-ldl"])):
        (tmp_path / f"{name}.c").write_text(text)
        subprocess.run([program("gcc"), "-O1", "-o", tmp_path / name, tmp_path / f"{name}.c", *options], check=True)
    run = paged([str(tmp_path / "l"), str(tmp_path / "l.so")], "8MiB", "--swap", scheme, stats=tmp_path / "s.json", timeout=60)
    assert run.returncode == 0, run.stderr
    assert json.loads((tmp_path / "s.json").read_text())["swap_outs"] > 0


LISTS = ["execl", "execlp", "execle"]
STARTS = [
    "execve", "execv", "execvp", "execvpe", "fexecve", "execveat", "execveat of a path", "execveat of a descriptor", "posix_spawn",
    "posix_spawnp", *LISTS,
]  # fmt: skip


@pytest.fixture(scope="session")
def starts(tmp_path_factory) -> Path:
    """A folder with the program that starts others, with two that end with 7, of which one is
    static, and with one that prints its arguments and the variable MARK.
    """
    folder = tmp_path_factory.mktemp("starts")
    printed = 'while (*words) puts(*words++); char *mark = getenv("MARK"); puts(mark ? mark : "no mark");'
    (folder / "prints.c").write_text(
        f"#include <stdio.h>\n#include <stdlib.h>\nint main(int count, char **words) {{ {printed} return 7; }}\n"
    )
    (folder / "seven.c").write_text("int main(void) { return 7; }\n")
    for source, name, options in (
        (HERE / "starts.c", "starts", ["-w"]),
        (folder / "seven.c", "seven", []),
        (folder / "seven.c", "static", ["-static"]),
        (folder / "prints.c", "prints", []),
    ):
        subprocess.run([program("gcc"), "-O1", *options, "-o", folder / name, source], check=True)
    return folder


@pytest.mark.parametrize("call", STARTS)
def test_every_call_that_starts_a_program_refuses_a_static_one(starts, call, monkeypatch):
    # The C library passes over a directory whose path is too long.
    monkeypatch.setenv("PATH", f"/nowhere:{'/long' * 1000}:{starts}", prepend=os.pathsep)
    run = paged([str(starts / "starts"), call, str(starts), "static"], "8MiB")
    assert run.returncode == 126 and b"statically linked; nothing can be preloaded into it: not started" in run.stderr, run.stderr
    assert run.stderr.count(b"\n") == 1 and (b"static: " in run.stderr or b"/proc/self/fd/" in run.stderr)


def test_an_empty_directory_of_the_path_is_the_working_directory(starts, monkeypatch):
    monkeypatch.setenv("PATH", "", prepend=os.pathsep)
    run = paged([str(starts / "starts"), "posix_spawnp", str(starts), "static"], "8MiB", cwd=starts)
    assert run.returncode == 126 and b"./static: statically linked" in run.stderr, run.stderr


def test_a_static_program_is_started_with_a_warning_and_another_without(starts):
    for name, warnings in (("static", [b"it runs unmanaged"]), ("seven", [])):
        run = paged([str(starts / "starts"), "posix_spawn", str(starts), name], "8MiB", "--unmanaged", "warn")
        assert run.returncode == 7 and run.stderr.count(b"\n") == len(warnings), run.stderr
        assert all(warning in run.stderr for warning in warnings)


@pytest.mark.parametrize("call", LISTS)
def test_a_list_of_arguments_arrives_whole(starts, call, monkeypatch):
    monkeypatch.setenv("PATH", f"/nowhere:{starts}", prepend=os.pathsep)
    command = [str(starts / "starts"), call, str(starts), "prints"]
    native = subprocess.run(command, capture_output=True)
    assert native.returncode == 7 and native.stdout.splitlines()[-2:] == [b"11", b"list" if call == "execle" else b"no mark"]
    run = paged(command, "8MiB")
    assert (run.returncode, run.stdout, run.stderr) == (7, native.stdout, b"")


@pytest.mark.parametrize("call", ["execve", "execv", "execl", "posix_spawn"])
def test_a_program_without_the_pagers_variables_is_reported_and_started(starts, call):
    for how, told in (("cleared", 1), ("kept", 0)):
        run = paged([str(starts / "starts"), f"{call} {how}", str(starts), "seven"], "8MiB")
        assert run.returncode == 7 and run.stderr.count(b"\n") == told, run.stderr
        assert run.stderr.count(b"seven: its environment lacks LD_PRELOAD or SWAPLAB_DRAM: it runs unmanaged") == told, run.stderr
