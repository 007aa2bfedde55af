"""Words of the command line: every command's help, and what wrong words are told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SWAPLAB = Path(sys.executable).parent / "swaplab"
DATA = Path(__file__).parents[2] / "python" / "swaplab" / "data"

#: Every command with its options, beside --help.
COMMANDS = {
    "": "--version",
    "demo": "--run --jobs --json",
    "replay": "--policy --memory --file-device --swap-device --scheme --seconds --first-touch --mapping --signal --seed --jobs --run "
    "--format --pages --filter --page-size --data-read-class --json",
    "sim": "--set --jobs --run --json",
    "fit": "-o --output --predict --swap --format --jobs --json",
    "explain": "--scheme --seed --json",
    "mrc": "--policy --sample --sizes --mapping --jobs --format --pages --filter --json",
    "sweep": "-o --set --cluster --jobs --resume --json",
    "compare": "--baseline --fail-above --html --json",
    "plan": "--target --policy --memory --swap --scheme --phone --seeds --price --seconds --jobs --run --format --pages --json",
    "recommend": "--goal --baseline --html --json",
    "report": "--html --static --perfetto --json",
    "rerun": "--json",
    "schema": "",
    "init": "--preset --json",
    "energy": "--swap --seconds --swap-ins --direct-reads --swap-outs --mode --lines --run --json",
    "nvm-cache": "--size --replacement --admission --fill --jobs --format --ranges --filefrag --run --json",
    "compressibility": "--source -o --most --seed --json",
    "list": "--json",
    "doctor": "--repair --target --dry-run --json",
    "bench": "--set --schemes --target --user --as-root --trace --against-sim -o --out --dry-run --json",
    "run": "--dram --scheme --policy --medium --nvm --flash --nvm-size --record --stats",
    "top": "--once --json",
    "trace": "",
    "trace import": "-o --output --format --pages --filter --page-size --data-read-class --ranges --filefrag --json",
    "trace info": "--format --pages --filter --page-size --data-read-class --json",
    "trace convert": "--to -o --output --format --pages --json",
    "trace slice": "-o --output --from --count --app --format --pages --json",
    "trace merge": "-o --output --quantum --format --json",
    "trace anonymise": "-o --output --seed --format --pages --json",
    "trace analyze": "--format --pages --ranges --filefrag --run --json",
    "trace capture": "-o --output --method --arch --root --filter --cache --max --label --label-pipe",
    "trace capture-block": "-o --output --memory --swap-device --swap-size --buffer --allow-lost --dry-run --json",
    "trace gen": "-o --output --seed --json",
    "trace model": "-o --output --format --json",
    "papers": "",
    "papers sensitivity": "--seeds --jobs --write --json",
    "papers check": "--write --json",
}


def swaplab(*words: str, cwd: Path | None = None) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    done = subprocess.run([SWAPLAB, *words], capture_output=True, text=True, timeout=60, cwd=cwd, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_every_option(command: str) -> None:
    code, said, _ = swaplab(*command.split(), "--help")
    assert code == 0
    assert {*COMMANDS[command].split(), "--help"} <= {word.rstrip(",") for word in said.split()}
    assert max(map(len, said.splitlines())) <= 80


def test_every_command_is_known_here() -> None:
    from swaplab.cli import command_line

    def walk(parser, name):
        yield name
        for child, below in (parser.commands.choices if parser.commands else {}).items():
            yield from walk(below, f"{name} {child}".strip())

    assert sorted(walk(command_line(), "")) == sorted(COMMANDS)


@pytest.mark.parametrize("group", ["", "trace", "papers"])
def test_a_group_alone_prints_its_help(group: str) -> None:
    assert swaplab(*group.split()) == (2, "", swaplab(*group.split(), "--help")[1])


ENERGY = "energy --swap 1MiB --swap-ins 1 --swap-outs 1 --seconds"
WRONG = {
    "replay T --memoy 5%": ["--memoy", "'--memory'", "swaplab replay --help"],
    "replay T --xyzzy": ["--xyzzy", "swaplab replay --help"],
    "replay -x T": ["-x"],
    "replay T": ["--policy", "--memory", "swaplab replay --help"],
    "replay --policy lru --memory 5%": ["TRACE", "swaplab replay --help"],
    "replay T --policy": ["--policy", "swaplab replay --help"],
    "replay T T --policy lru --memory 5%": ["'T'"],
    "replay T --policy lru --memory 5% --seed": ["--seed"],
    "replay T --policy lru --memory 5% --seed x": ["--seed", "'x'", "a whole number from 0 to 9223372036854775807"],
    "replay T --policy lru --memory 5% --seed -1": ["--seed", "'-1'", "a whole number from 0 to"],
    "replay T --policy lru --memory 5% --seed=-1": ["--seed", "'-1'", "a whole number from 0 to"],
    "replay T --policy lru --memory -5%": ["-5%"],
    "replay T --policy lru --memory 5% --page-size 20000": ["--page-size", "'20000'", "from 4096 to 16384"],
    "replay T --policy lru --memory 5% --json=yes": ["--json"],
    "replay T --pol lru": ["--pol", "'--policy'"],
    f"{ENERGY} soon": ["--seconds", "'soon'", "a number"],
    "compare a --fail-above -1": ["--fail-above", "'-1'", "0"],
    "explain": ["RUN", "LAUNCH"],
    "explain run one": ["LAUNCH", "'one'", "a whole number"],
    "explain run -1": ["-1"],
    "explain run --": ["LAUNCH"],
    "explain -- run --": ["--"],
    "demo -- x": ["'x'"],
    "compressibility 1 x --source s -o f": ["'x'", "a whole number"],
    "trac": ["'trac'", "'trace'"],
    "xyzzy": ["'xyzzy'", "swaplab --help"],
    "--versoin": ["--versoin", "'--version'"],
    "trace imprt": ["'imprt'", "'import'"],
    "trace import T": ["-o/--output", "swaplab trace import --help"],
    "papers chekc": ["'chekc'", "'check'"],
    "run ls": ["--dram"],
    "run --dram 64MiB": ["CMD"],
    "run --drma 64MiB ls --dram 64MiB": ["--drma", "'--dram'"],
    "trace capture -o x ls -l": ["-l"],
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_words_are_told_on_one_line(words: str, tmp_path: Path) -> None:
    code, out, said = swaplab(*words.split(), cwd=tmp_path)
    assert (code, out) == (2, "") and said.startswith("swaplab: ") and said.count("\n") == 1 and said.endswith("\n"), said
    assert [part for part in WRONG[words] if part not in said] == [], said
    assert list(tmp_path.iterdir()) == []


def test_a_line_break_in_a_word_makes_no_second_line() -> None:
    for words in (["re\nplay"], ["replay", "--me\nmory"], ["explain", "run", "1\n2x"], ["list", "a", "b\nc"], ["top", "--json=\n"]):
        code, _, said = swaplab(*words)
        assert (code, said.count("\n")) == (2, 1), said


def test_options_stand_anywhere_and_take_any_value(tmp_path: Path) -> None:
    (tmp_path / "-odd.txt").write_text("1 R\n2 W\n" * 50)
    code, _, said = swaplab("trace", "info", "--json", "--", "-odd.txt", cwd=tmp_path)
    assert code == 0, said
    code, _, said = swaplab("trace", "import", "./-odd.txt", "-o", "-odd.slt", cwd=tmp_path)
    assert code == 0 and (tmp_path / "-odd.slt").exists(), said
    code, _, said = swaplab("trace", "merge", "--quantum=5", "./-odd.txt", "-oboth.slt", "--", "-odd.slt", cwd=tmp_path)
    assert code == 0 and (tmp_path / "both.slt").exists(), said
    documents = []
    for words in (
        ["d.json", "--json", "e.json"],
        ["--json", "d.json", "e.json"],
        ["d.json", "e.json", "--json"],
        ["--json", "--", "d.json", "e.json"],
    ):
        for name in ("d.json", "e.json"):
            (tmp_path / name).write_text('{"schema": 1, "kind": "simulated", "points": []}')
        documents.append(swaplab("compare", *words, cwd=tmp_path))
    assert all(one == documents[0] for one in documents)


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("echo --dram 1 --help -- x", ["echo", "--dram", "1", "--help", "--", "x"]),
        ("-- echo -- x --", ["echo", "--", "x", "--"]),
        ("--scheme nvm-copy -- echo", ["echo"]),
        ("--policy=refault echo --", ["echo", "--"]),
    ],
)
def test_from_the_first_word_all_is_the_programs(words: str, command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from swaplab.cli import command_line

    seen: dict[str, object] = {}
    app = command_line("run")
    monkeypatch.setitem(app.commands.choices["run"]._defaults, "function", lambda **values: seen.update(values))
    app.run(["run", "--dram", "64MiB", *words.split()])
    assert seen["command"] == command and seen["dram"] == "64MiB"


@pytest.mark.parametrize(
    ("words", "command"),
    [("ls -o x", ["ls"]), ("-o x -- ls -l -- y", ["ls", "-l", "--", "y"]), ("ls -o x -- -l", ["ls", "-l"])],
)
def test_a_captured_program_may_stand_before_options(words: str, command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from swaplab.cli import command_line

    seen: dict[str, object] = {}
    app = command_line("trace")
    monkeypatch.setitem(
        app.commands.choices["trace"].commands.choices["capture"]._defaults, "function", lambda **values: seen.update(values)
    )
    app.run(["trace", "capture", *words.split()])
    assert (seen["command"], str(seen["output"])) == (command, "x")


def test_a_reader_who_leaves_early_is_no_error() -> None:
    """The document is longer than a pipe holds."""
    line = [SWAPLAB, "mrc", DATA / "djpeg.slt", "--sizes", "3000", "--json"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout and running.stderr
        running.stdout.read(1)
        running.stdout.close()
        said = running.stderr.read()
    assert (running.returncode, said) == (1, b"")


def test_standard_input_is_a_dash() -> None:
    done = subprocess.run([SWAPLAB, "trace", "info", "-", "--json"], input=b"1 R\n2 W\n" * 50, capture_output=True, timeout=60)
    assert done.returncode == 0 and json.loads(done.stdout)["references"] == 100
