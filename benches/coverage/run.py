"""`make coverage`: line coverage of the crates and the package by the tests.

The crates are compiled with counters (cargo-llvm-cov) and their tests are run. Then the Python
tests run with an instrumented extension, an instrumented preload library, and coverage.py in every
Python process. A line is covered if any of them ran it. Tests inside a crate's files are not
counted as lines. Code in a guest of the world `vm`, and Python lines of killed processes, are not
recorded.

Where only the crates' tests have run (`--only crates`), the result is `CRATES.md` instead of
`RESULTS.md`; where only the pager's tests and the tests of programs under it have run (`--only
pager`), it is `PAGER.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PLACE = ROOT / "target" / "coverage"
#: The package with the instrumented extension; the other files are links.
PACKAGE = PLACE / "package" / "swaplab"
#: Goals of line coverage.
MODELS = dict.fromkeys(["vocab", "trace", "policy", "device", "swap", "apps", "sim"], 0.95)
GOALS = MODELS | {"pager": 0.85, "preload": 0.85, "python": 0.9}
#: Programs whose coverage cannot be recorded: tools of the build, and the first program of a guest.
LEFT_OUT = {"xtask", "guest", "fuzz-targets"}
#: The suites of `make test`, `make long`, `make docs` and `make guests`.
SUITES = {
    "side-by-side": ["-n", "2", "--dist", "loadgroup", "-m", "not alone and not papers and not guests and not additions"],
    "alone": ["-m", "alone"],
    "guests": ["-n", "2", "-m", "guests"],
}
#: Optimization by package, for code that tests wait for, because counters make it slower. The same
#: profile serves the crates' tests, the extension and the preload library, which are compiled once.
MODELED = ["vocab", "trace", "policy", "device", "swap", "apps", "sim"]
OPTIMIZED = {f"swaplab-{name}": 2 for name in MODELED} | {"swaplab-preload": 1, "swaplab-py": 1, "libmimalloc-sys": 2, "dlmalloc": 2}


@dataclass
class Lines:
    """The lines of a file with code, and those that ran."""

    all: set[int] = field(default_factory=set)
    ran: set[int] = field(default_factory=set)

    @property
    def missed(self) -> list[int]:
        return sorted(self.all - self.ran)


def main() -> None:
    parser = argparse.ArgumentParser(description=" ".join((__doc__ or "").partition("\n\n")[0].split()))
    parser.add_argument(
        "--only",
        choices=["crates", "python", "pager", "report"],
        help="run only these tests, or only the report; earlier counts are kept (pager: programs under an instrumented preload library)",
    )
    parser.add_argument("--suites", nargs="+", choices=SUITES, default=[*SUITES], help="run only these suites of the Python tests")
    arguments = parser.parse_args()
    only = arguments.only
    environment = instrumented()
    if only is None:
        shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True, exist_ok=True)
    if only != "report":
        (PLACE / "commit").write_text(subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout)
    if only in (None, "crates"):
        tests("cargo test", ["cargo", "test", "--workspace", "--quiet", *optimized()], environment)
    if only in (None, "python"):
        build_package(environment, ["py", "preload"])
        for suite in arguments.suites:
            pytest = [sys.executable, "-m", "pytest", "-q", "--timeout", "1200", "-p", "no:cacheprovider", *SUITES[suite]]
            tests(f"pytest {suite}", pytest, environment | counting_python())
    if only == "pager":
        tests("cargo test of the pager", ["cargo", "test", "-p", "swaplab-pager", "--quiet", *optimized()], environment)
        build_package(environment, ["preload"])
        pytest = [sys.executable, "-m", "pytest", "-q", "--timeout", "1200", "-p", "no:cacheprovider", *paged_tests()]
        tests("pytest of the pager", pytest, environment | {"PYTHONPATH": str(PACKAGE.parent)})
    marker = PLACE / "only-pager"
    if only == "pager":
        marker.touch()
    elif only != "report":
        marker.unlink(missing_ok=True)
    crates, package = of_crates(environment), of_package()
    if marker.exists():
        crates, package = {name: lines for name, lines in crates.items() if name.split("/")[1] in ("pager", "preload")}, {}
    (PLACE / "uncovered.txt").write_text(uncovered(crates | package))
    text = report(crates, package, failures())
    (HERE / ("PAGER.md" if marker.exists() else "RESULTS.md" if package else "CRATES.md")).write_text(text)
    print(text, f"lines that no test ran: {PLACE.relative_to(ROOT)}/uncovered.txt", sep="\n")


def instrumented() -> dict[str, str]:
    """Return the environment in which cargo compiles the workspace with counters."""
    if subprocess.run(["cargo", "llvm-cov", "--version"], capture_output=True).returncode:
        sys.exit("cargo-llvm-cov is missing: cargo install cargo-llvm-cov --locked")
    environment = os.environ | {"CARGO_TARGET_DIR": str(PLACE / "build"), **llvm_tools()}
    shown = subprocess.run(["cargo", "llvm-cov", "show-env"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    pairs = re.findall(r"^(\w+)=(?:'(.*)'|\"(.*)\"|(.*))$", shown.stdout, re.MULTILINE)
    environment |= {name: first or second or third for name, first, second, third in pairs}
    # Counters are in memory-mapped files (%c), eight of them shared by all processes, so that they
    # survive a kill, an exec or a change of user.
    flags = "-C llvm-args=-runtime-counter-relocation"
    environment["RUSTFLAGS"] = f"{environment.get('RUSTFLAGS', '')} {flags}".strip()
    return environment | {"LLVM_PROFILE_FILE": str(PLACE / "build" / "swaplab-%c%8m.profraw")}


def llvm_tools() -> dict[str, str]:
    """Locate the tools of the compiler's LLVM: rustup's component, or a system package of the same
    version.
    """
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    if any(Path(sysroot).glob("lib/rustlib/*/bin/llvm-profdata")):
        return {}
    version = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    number = re.search(r"LLVM version: (\d+)", version)
    tools = {
        name: shutil.which(f"{tool}-{number[1] if number else ''}")
        for name, tool in (("LLVM_COV", "llvm-cov"), ("LLVM_PROFDATA", "llvm-profdata"))
    }
    if not all(tools.values()):
        wanted = number and number[1]
        sys.exit(f"the tools of LLVM {wanted} are missing: rustup component add llvm-tools, or on Debian apt-get install llvm-{wanted}")
    return {name: path for name, path in tools.items() if path}


def optimized() -> list[str]:
    """Return cargo's arguments for the optimization of tests."""
    return [argument for name, level in OPTIMIZED.items() for argument in ("--config", f"profile.test.package.{name}.opt-level={level}")]


def tests(name: str, command: list[str], environment: dict[str, str]) -> None:
    """Run tests with their output in a log. Counters make programs slower and larger, so some tests
    may fail; the report names them.
    """
    log = PLACE / f"{name.replace(' ', '-')}.log"
    with log.open("w") as output:
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
        output.write(f"\nexit {done.returncode}\n")
    print(f"{name}: exit {done.returncode}", flush=True)


def failures() -> list[str]:
    """Return the tests that failed in the runs whose logs are kept, or a log that names none."""
    failed = []
    for log in sorted(PLACE.glob("*.log")):
        text = log.read_text(errors="replace")
        rows = re.findall(r"^(?:FAILED|ERROR) (\S+)|^test (\S+) \.\.\. FAILED", text, re.MULTILINE)
        failed += [first or second for first, second in rows] or ([] if text.endswith("\nexit 0\n") else [log.stem])
    return failed


def paged_tests() -> list[str]:
    """Return the files of tests that run programs under the pager."""
    names = ["test_run*", "test_program_calls", "test_unusual_programs", "test_late_pager", "test_memory_world"]
    return sorted(str(path.relative_to(ROOT)) for name in names for path in ROOT.glob(f"tests/python/{name}.py"))


def build_package(environment: dict[str, str], parts: list[str]) -> None:
    """Build a package of which these parts are instrumented."""
    command = ["cargo", "build", "--quiet", "--profile", "test", *optimized(), *[f"-pswaplab-{part}" for part in parts]]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    source, built = ROOT / "python" / "swaplab", PLACE / "build" / "debug"
    counting = {"libswaplab_preload.so": "libswaplab_preload.so"} | ({"_core.abi3.so": "lib_core.so"} if "py" in parts else {})
    shutil.rmtree(PACKAGE, ignore_errors=True)
    (PACKAGE / "_native").mkdir(parents=True)
    for folder in (source, source / "_native"):
        for path in folder.iterdir():
            target = PACKAGE / path.relative_to(source)
            if path.name in counting:
                shutil.copy(built / counting[path.name], target)
            elif path.name not in ("_native", "__pycache__"):
                target.symlink_to(path)


def counting_python() -> dict[str, str]:
    """Return the environment that makes every Python process record coverage, and find the guest's
    devices, which are not part of a package.
    """
    settings = PLACE / "coveragerc"
    settings.write_text(f"[run]\nsource = swaplab\nparallel = true\npatch = subprocess\ndata_file = {PLACE}/python/data\ncore = ctrace\n")
    (PLACE / "python").mkdir(exist_ok=True)
    return {"PYTHONPATH": str(PACKAGE.parent), "COVERAGE_PROCESS_START": str(settings), "SWAPLAB_KERNEL_PARTS": str(ROOT / "kernel")}


def of_crates(environment: dict[str, str]) -> dict[str, Lines]:
    """Collect the lines of every crate's files, by path from the root."""
    exported = PLACE / "crates.lcov"
    command = ["cargo", "llvm-cov", "report", "--lcov", "--output-path", str(exported)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    files: dict[str, Lines] = {}
    for record in exported.read_text().split("end_of_record"):
        path = re.search(r"^SF:(.*)$", record, re.MULTILINE)
        name = Path(path[1]).relative_to(ROOT).as_posix() if path else ""
        if not re.match(r"crates/[^/]+/src/", name) or name.split("/")[1] in LEFT_OUT or name.endswith("tests.rs") or "/tests/" in name:
            continue
        end = first_line_of_tests(ROOT / name)
        counts = [(int(line), int(count)) for line, count in re.findall(r"^DA:(\d+),(\d+)", record, re.MULTILINE)]
        files[name] = Lines({line for line, _ in counts if line < end}, {line for line, count in counts if count and line < end})
    return files


def first_line_of_tests(path: Path) -> int:
    """Return the line at which a file's tests begin."""
    lines = path.read_text().splitlines()
    return next(
        (n for n, line in enumerate(lines, 1) if line == "#[cfg(test)]" and lines[n].startswith("mod ") and lines[n].endswith("{")),
        len(lines) + 1,
    )


def of_package() -> dict[str, Lines]:
    """Collect the lines of the package's files; empty before the Python tests have run."""
    if not (PLACE / "python").exists():
        return {}
    coverage, options = [sys.executable, "-m", "coverage"], [f"--rcfile={PLACE / 'coveragerc'}"]
    if any((PLACE / "python").glob("data.*")):
        subprocess.run([*coverage, "combine", *options, "--append", "--quiet"], cwd=ROOT, check=True)
    # Files that a test has written and removed are in the data too.
    command = [*coverage, "json", *options, "--quiet", "--ignore-errors", "--include", f"{PACKAGE}/*,{ROOT}/python/swaplab/*"]
    subprocess.run([*command, "-o", PLACE / "package.json"], cwd=ROOT, check=True)
    rows = json.loads((PLACE / "package.json").read_text())["files"]
    names = {name: Path(name).resolve().relative_to(ROOT).as_posix() for name in rows}
    return {names[name]: Lines({*row["executed_lines"], *row["missing_lines"]}, set(row["executed_lines"])) for name, row in rows.items()}


def uncovered(files: dict[str, Lines]) -> str:
    """Format the uncovered lines of every file that has any."""
    runs = []
    for name, lines in sorted(files.items()):
        if lines.missed:
            runs.append(f"{name} ({len(lines.missed)} of {len(lines.all)}): {', '.join(in_runs(lines))}")
    return "\n".join([*runs, ""])


def in_runs(lines: Lines) -> list[str]:
    """Format missed lines as `7` and `9-12`; lines without code do not interrupt a range."""
    runs: list[list[int]] = []
    for line in sorted(lines.all):
        if line in lines.ran:
            runs.append([])
        else:
            runs = runs or [[]]
            runs[-1].append(line)
    return [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs if run]


def report(crates: dict[str, Lines], package: dict[str, Lines], failed: list[str]) -> str:
    """Format the coverage, a line for each crate and each part of the package."""
    sums: dict[str, list[Lines]] = defaultdict(list)
    for name, lines in crates.items():
        sums[name.split("/")[1]].append(lines)
    for name, lines in package.items():
        part = name.removeprefix("python/swaplab/").partition("/")[0].removesuffix(".py")
        sums["python"].append(lines)
        sums[f"python {part}"].append(lines)
    commit = (PLACE / "commit").read_text().strip()
    rows = [f"| {name} | {total} | {ran} | {ran / total:.1%} | {goal(name)} |" for name, total, ran in shares(sums)]
    about = [*(__doc__ or "").split("\n\n")[1].splitlines(), "", f"Commit `{commit}`.", ""]
    if (PLACE / "only-pager").exists():
        about += ["The tests of the crate `pager`, and those of programs under the pager, were run.", ""]
    elif not package:
        about += [
            "The crates' tests alone were run. Most lines of some crates, such as `preload` and `py`, are run by the Python tests.",
            "",
        ]
    text = ["# Which lines the tests run", "", *about]
    text += ["| part | lines | run | share | goal |", "|---|---:|---:|---:|---:|", *rows]
    if failed:
        text += ["", "Failed while counting, which makes programs slower and larger:", "", *(f"- `{name}`" for name in failed)]
    return "\n".join([*text, ""])


def shares(sums: dict[str, list[Lines]]) -> list[tuple[str, int, int]]:
    return [(name, sum(len(f.all) for f in sums[name]), sum(len(f.ran & f.all) for f in sums[name])) for name in sorted(sums)]


def goal(name: str) -> str:
    return f"{GOALS[name]:.0%}" if name in GOALS else ""


if __name__ == "__main__":
    main()
