"""Usage of the command line: help of every command, consistent names of options, usage errors,
completion.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator

import pytest
import typer
from command import DATA, SWAPLAB, Done, here, swaplab
from swaplab import cli
from swaplab.core.registry import KINDS

#: Every command and group of `swaplab` by full name.
COMMANDS = sorted(
    [
        *(
            "",
            "demo",
            "new",
            "check",
            "run",
            "replay",
            "exec",
            "top",
            "report",
            "compare",
            "explain",
            "plan",
            "advise",
            "recommend",
            "rerun",
        ),
        *("list", "schema", "doctor", "kernel", "kernel ab", "kernel build", "kernel list", "kernel remove"),
        *("papers", "papers ablation", "papers check", "papers energy", "papers nvm-cache", "papers sensitivity"),
        *("trace", "trace analyze", "trace anonymize", "trace capture", "trace convert", "trace fit", "trace fit app", "trace fit phone"),
        *("trace gen", "trace import", "trace info", "trace merge", "trace mrc", "trace sample-compressibility", "trace slice"),
    ]
)
#: Names of options in all commands, each with alternative names that must not be used.
ONE_NAME = {
    "--output": ["--out", "--run", "--html", "--write-to"],
    "--memory": ["--sizes-of-memory", "--mem"],
    "--swap": ["--scheme", "--schemes"],
    "--set": ["--override"],
    "--on": ["--world", "--worlds"],
    "--jobs": ["--threads", "--workers"],
    "--policy": ["--policies"],
    "--count": ["--max", "--most"],
    "--length": ["--seconds"],
    "--dram": ["--resident"],
}


def walk() -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Yield every command with its options: all names of an option by its long name."""

    def below(command: object, name: str) -> Iterator[tuple[str, dict[str, list[str]]]]:
        options = {max(one.opts, key=len): list(one.opts) for one in command.params if one.param_type_name == "option"}  # type: ignore[attr-defined]
        yield name, options
        for child, inner in getattr(command, "commands", {}).items():
            yield from below(inner, f"{name} {child}".strip())

    yield from below(typer.main.get_command(cli.app_with()), "")


TREE = dict(walk())
#: Commands that are groups.
GROUPS = sorted(name for name in TREE if any(other != name and other.startswith(f"{name} ".lstrip()) for other in TREE))


def test_the_list_of_commands_is_complete() -> None:
    assert sorted(TREE) == COMMANDS


@pytest.mark.parametrize("command", sorted(TREE))
def test_help_lists_every_option_and_describes_the_command(command: str) -> None:
    done = here(*command.split(), "--help")
    assert done.code == 0 and done.err == ""
    said = {word.rstrip(",") for word in done.out.split()}
    assert {name for names in TREE[command].values() for name in names} <= said
    assert max(map(len, done.out.splitlines())) <= 80
    # There is a description below the usage line.
    prose = done.out.split("\n\n")[1] if "\n\n" in done.out else ""
    assert prose.strip() and not prose.strip().startswith(("Options", "Arguments")), done.out


def test_each_option_has_one_name() -> None:
    used = {name for options in TREE.values() for names in options.values() for name in names}
    for name, others in ONE_NAME.items():
        assert name in used and not used & set(others), (name, used & set(others))
    for command, options in TREE.items():
        for names in options.values():
            assert ("-o" in names) == ("--output" in names), (command, names)
            assert [name for name in names if not name.startswith("--")] in ([], ["-o"], ["-h"]), (command, names)


def test_an_option_has_the_same_metavar_in_every_command() -> None:
    """An option has the same metavar in every command, except switches, and outputs, which are
    files or folders.
    """
    found: dict[str, dict[str, list[str]]] = {}

    def collect(command: object, name: str) -> None:
        for one in command.params:  # type: ignore[attr-defined]
            if one.param_type_name == "option":
                kind = "switch" if getattr(one, "is_flag", False) else str(one.metavar or one.type).removesuffix(",..")
                found.setdefault(max(one.opts, key=len), {}).setdefault(kind, []).append(name)
        for child, inner in getattr(command, "commands", {}).items():
            collect(inner, f"{name} {child}".strip())

    collect(typer.main.get_command(cli.app_with()), "")
    assert set(found["--output"]) <= {"DIR", "FILE"}, found["--output"]
    several = {name: kinds for name, kinds in found.items() if len(kinds) > 1 and name != "--output"}
    assert not several and found["--set"], several


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_alone_prints_its_help(group: str) -> None:
    alone, helped = here(*group.split()), here(*group.split(), "--help")
    assert (alone.code, alone.out, alone.err) == (2, helped.out, "")


@pytest.mark.parametrize(("words", "module"), [(["--help"], "swaplab.report.page"), (["list", "policies"], "swaplab.core.registry")])
def test_a_command_without_figures_loads_no_large_library(words: list[str], module: str) -> None:
    """Neither a command nor the list of all commands, which imports every command's module, loads
    polars, altair, vl-convert or Dask. `module` is one that it imports.
    """
    code = f"import sys; sys.argv = {['swaplab', *words]}\nfrom swaplab.cli import main\ntry: main()\nexcept SystemExit: pass\n"
    large = ("altair.vegalite", "polars.dataframe", "distributed", "vl_convert")
    code += f"print('{module}' in sys.modules, [name for name in {large} if name in sys.modules], file=sys.stderr)"
    done = subprocess.run([SWAPLAB.parent / "python", "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stderr.strip() == "True []", done.stderr


def test_a_module_is_loaded_by_its_first_use() -> None:
    code = "import sys, swaplab; import altair as alt; import polars as pl; print('polars.dataframe' in sys.modules)\n"
    code += "print(pl.DataFrame({'a': [1]})['a'].sum(), sys.modules['polars'] is not pl, alt.Chart is sys.modules['altair'].Chart)\n"
    code += "from swaplab.core.lazy import load_at_first_use; load_at_first_use('polars', 'no_such_module')\n"
    code += "print(sys.modules['polars'].DataFrame is pl.DataFrame, 'no_such_module' in sys.modules)"
    done = subprocess.run([SWAPLAB.parent / "python", "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["False", "1", "True", "True", "True", "False"], done


ENERGY = "papers energy --swap-size 1MiB --swap-ins 1 --swap-outs 1 --length"
WRONG = {
    "replay T --memoy 5%": ["--memoy", "--memory", "swaplab replay --help"],
    "replay T --xyzzy": ["--xyzzy", "swaplab replay --help"],
    "replay -x T": ["-x", "swaplab replay --help"],
    "replay": ["TRACE", "swaplab replay --help"],
    "replay --policy lru --memory 5%": ["TRACE", "swaplab replay --help"],
    "replay T --policy": ["--policy", "swaplab replay --help"],
    "replay T T --policy lru --memory 5%": ["T", "swaplab replay --help"],
    "replay T --policy lru --memory 5% --seed": ["--seed", "swaplab replay --help"],
    "replay T --policy lru --memory 5% --seed x": ["--seed", "integer"],
    "replay T --policy lru --memory 5% --seed -1": ["--seed", "greater than or equal to 0"],
    "replay T --policy lru --memory 5% --seed=-1": ["--seed", "greater than or equal to 0"],
    f"replay T --policy lru --memory 5% --seed {2**64}": ["--seed", "less than or equal to 9223372036854775807"],
    "replay T --policy lru --memory -5%": ["-5%"],
    "replay T --policy lru --memory 5% --page-size 20000": ["--page-size", "less than or equal to 16384"],
    "replay T --policy lru --memory 5% --json=yes": ["--json"],
    "replay T --pol lru": ["--pol", "--policy"],
    "replay T --scheme zram": ["--scheme", "swaplab replay --help"],
    "run": ["EXP", "swaplab run --help"],
    "run x.toml --run runs": ["--run", "swaplab run --help"],
    "run x.toml --jobs many": ["--jobs", "integer"],
    "new": ["FILE", "swaplab new --help"],
    "check": ["EXP", "swaplab check --help"],
    f"{ENERGY} soon": ["--length", "'soon'"],
    f"papers energy --swap-size 1MiB --length 1s --swap-ins {2**64} --swap-outs 1": ["--swap-ins", "less than or equal to"],
    "compare a --fail-above -1": ["--fail-above", "0"],
    "explain": ["RUN", "swaplab explain --help"],
    "explain run one": ["LAUNCH", "integer"],
    "explain run -1": ["-1"],
    "demo x": ["x"],
    "trace sample-compressibility 1 x --source s -o f": ["integer"],
    "trac": ["'trac'", "'trace'"],
    "xyzzy": ["'xyzzy'", "swaplab --help"],
    "--versoin": ["--versoin", "swaplab --help"],
    "trace imprt": ["'imprt'", "'import'"],
    "trace import T": ["--output", "swaplab trace import --help"],
    "papers chekc": ["'chekc'", "'check'"],
    "exec ls": ["--dram"],
    "exec --dram 64MiB": ["CMD"],
    "exec --drma 64MiB -- ls": ["--drma", "--dram"],
    "list things": ["unknown kind 'things'", "expected one of: policies"],
    "schema things": ["'things'", "expected experiment or document"],
    "sim x.toml": ["'sim'", "swaplab --help"],
    "bench quick": ["'bench'", "swaplab --help"],
    "sweep x.toml": ["'sweep'", "swaplab --help"],
    "init x.toml": ["'init'", "swaplab --help"],
    "mrc T": ["'mrc'", "swaplab --help"],
}


@pytest.mark.parametrize("words", WRONG)
def test_usage_errors_are_one_line_and_write_no_file(words: str, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    here(*words.split()).refuses(*WRONG[words])
    assert list(tmp_path.iterdir()) == []


def test_a_separate_process_prints_the_same(tmp_path) -> None:
    assert swaplab("--help").out == here("--help").out and swaplab("--version").out == here("--version").out
    swaplab("replay", "T", "--memoy", "5%", cwd=tmp_path).refuses("--memoy", "--memory", "swaplab replay --help")
    assert list(tmp_path.iterdir()) == []


def test_a_line_break_in_an_argument_makes_no_second_line() -> None:
    for words in (["re\nplay"], ["replay", "--me\nmory"], ["explain", "run", "1\n2x"], ["list", "a", "b\nc"], ["top", "--json=\n"]):
        here(*words).refuses()


def test_arguments_after_the_dashes_of_exec_belong_to_the_program() -> None:
    """The program's options are not interpreted by swaplab."""
    done = here("exec", "--dram", "64MiB", "--", "no-such-program", "--dram", "-l", "--json")
    assert done.code in (2, 3, 127) and "no-such-program" in done.err and done.err.count("\n") == 1, done


def test_a_closed_output_pipe_is_not_an_error() -> None:
    """The document is larger than the pipe's buffer."""
    line = [SWAPLAB, "trace", "mrc", DATA / "djpeg.slt", "--sizes", "3000", "--json"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout and running.stderr
        running.stdout.read(1)
        running.stdout.close()
        said = running.stderr.read()
    assert (running.returncode, said) == (1, b"")


def test_a_dash_is_standard_input() -> None:
    done = swaplab("trace", "info", "-", "--json", stdin=b"1 R\n2 W\n" * 50)
    assert done.document["references"] == 100


def completed(shell: str, line: str) -> Done:
    """Return the shell's completions at the end of a line, by the protocol of typer's scripts."""
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)} if shell == "bash" else {"_TYPER_COMPLETE_ARGS": line}
    actions = {"fish": {"_TYPER_COMPLETE_FISH_ACTION": "get-args", "_TYPER_COMPLETE_WORD_TO_COMPLETE": line.rsplit(" ", 1)[-1]}}
    settings = os.environ | {"_SWAPLAB_COMPLETE": f"complete_{shell}"} | words | actions.get(shell, {})
    done = subprocess.run([SWAPLAB], capture_output=True, text=True, timeout=120, env=settings)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_offers_commands_and_options(shell: str) -> None:
    commands = completed(shell, "swaplab re").out
    assert all(name in commands for name in ("recommend", "replay", "report", "rerun")) and "doctor" not in commands
    assert "--memory" in completed(shell, "swaplab replay --mem").out
    assert "import" in completed(shell, "swaplab trace im").out
    script = subprocess.run(
        [SWAPLAB, "--show-completion", shell],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
    )
    assert script.returncode == 0 and "_SWAPLAB_COMPLETE" in script.stdout, script


def test_the_json_form_of_a_list_is_one_document() -> None:
    for kind in ("policies", "schemes", "devices", "killers", "apps", "formats", "presets", "worlds"):
        rows = here("list", kind, "--json").document[kind]
        assert rows and all({"key", "what", "source", "parameters"} <= row.keys() for row in rows), kind
        assert len({row["key"] for row in rows}) == len(rows), kind
        text = here("list", kind)
        assert text.code == 0 and all(row["key"] in text.out for row in rows)


def test_commands_that_lists_name_exist() -> None:
    named = {name for kind in KINDS for name in re.findall(r"`swaplab ([a-z -]+[a-z])`", here("list", kind).out)}
    assert "trace sample-compressibility" in named and named <= set(COMMANDS), named - set(COMMANDS)


def test_the_schemas_are_json_schemas() -> None:
    experiment, document = (json.loads(here("schema", *words).out) for words in ([], ["document"]))
    assert {"machine", "design", "workload", "run", "vary"} <= experiment["properties"].keys()
    assert {"schema", "rows", "experiment", "inputs", "versions"} <= document["properties"].keys()


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_changes_no_exit_code(closed: str) -> None:
    for words, code in (("--version", 0), ("list policies", 0), ("run none.toml", 2)):
        done = subprocess.run(f"'{SWAPLAB}' {words} {closed}", shell=True, capture_output=True, text=True, timeout=60)
        assert done.returncode == code and "Traceback" not in done.stderr, (words, done)
