"""The code blocks of README and docs are run as by a reader: each page in a folder of its own, its
blocks in order.

`bash` blocks run with -eu; `python` blocks of a page share a namespace; a `toml` block whose first
line is `# file: NAME` is written there. `text` is the output of the `bash` block directly above it;
`rust` is an included source; any other kind of block is an error. With SWAPLAB_WRITE_PAGES=1 a
`text` block that is no longer what comes out is written anew (`make tables`).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from command import EXPERIMENTS, ROOT, command_names
from swaplab import _core

PAGES = [ROOT / "README.md", *sorted(path for path in (ROOT / "docs").rglob("*.md") if "decisions" not in path.parts)]
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
WITH_CODE = [page for page in PAGES if any(kind in ("bash", "python", "toml") for kind, _ in BLOCK.findall(page.read_text()))]
#: Removed commands and options, which docs and README must not contain.
GONE = [
    *("swaplab sim", "swaplab bench", "swaplab sweep", "swaplab init", "swaplab mrc", "swaplab energy", "swaplab nvm-cache"),
    *("swaplab compressibility", "swaplab fit", "trace model", "capture-block", "--scheme", "--html", "--run ", "--target uml"),
]


@pytest.mark.docs
@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    namespace: dict[str, Any] = {}
    text, said, end = page.read_text(), "", -1
    for block in BLOCK.finditer(text):
        kind, code = block.groups()
        if kind == "text" and block.start() == end + 1 and said:
            if os.environ.get("SWAPLAB_WRITE_PAGES") == "1" and not said.startswith(code):
                page.write_text(page.read_text().replace(code, "".join(said.splitlines(keepends=True)[: code.count("\n")])))
                said = code
            assert said.startswith(code), f"{page.name} shows\n{code}\nand what came out is\n{said}"
        said, end = "", block.end()
        if kind == "toml" and (name := re.match(r"# file: (\S+)\n", code)):
            (tmp_path / name[1]).write_text(code)
        elif kind == "python":
            exec(compile(code, str(page), "exec"), namespace)
        elif kind == "bash":
            done = subprocess.run(["bash", "-euc", code], capture_output=True, text=True, timeout=300, env=os.environ | {"PATH": path})
            assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
            said = done.stdout


def test_every_block_is_of_a_known_kind() -> None:
    kinds = {(kind, str(page.relative_to(ROOT))) for page in PAGES for kind, _ in BLOCK.findall(page.read_text())}
    assert {kind for kind, _ in kinds} <= {"bash", "python", "toml", "text", "json", "math", "rust", "c", ""}, sorted(kinds)


def test_no_page_uses_removed_terms() -> None:
    for page in PAGES:
        text = page.read_text()
        assert [word for word in GONE if word in text] == [], page


def test_every_command_on_a_page_exists() -> None:
    """Commands in `text` blocks and sentences, which are not run, are checked too."""
    known = command_names()
    shown = re.compile(r"(?:`|^ *(?:sudo )?)swaplab ((?:trace|papers|kernel) (?:fit )?[a-z-]+|[a-z][a-z-]+)", re.MULTILINE)
    for page in PAGES:
        for words in shown.findall(page.read_text()):
            assert words in known or (words.split()[0] in known and words.split()[0] not in ("trace", "papers", "kernel")), (page, words)


def test_every_command_that_a_comment_or_message_quotes_exists() -> None:
    known = command_names()
    quoted = re.compile(r"`swaplab ((?:[a-z][a-z-]* ?)+)")
    folders = ("benches", "crates", "examples", "kernel", "papers", "python", "tools")
    places = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    checked: set[str] = set()
    for path in places:
        if path.suffix in (".c", ".md", ".py", ".rs", ".sh", ".toml") and "target" not in path.parts:
            for text in quoted.findall(path.read_text()):
                first, *rest = text.split()
                checked.add(first)
                is_group = first in ("trace", "papers", "kernel")
                assert first in known and (not is_group or not rest or f"{first} {rest[0]}" in known), (path, text)
    assert {"run", "replay", "trace", "papers", "kernel"} <= checked, "the folders quote commands"


def test_the_first_hour_takes_five_commands_at_most() -> None:
    text = (ROOT / "docs" / "first-hour.md").read_text()
    lines = [line for kind, code in BLOCK.findall(text) if kind == "bash" for line in code.splitlines() if line.strip()]
    assert 1 <= len(lines) <= 5 and all(line.startswith("swaplab ") for line in lines), lines


def test_the_experiment_page_shows_the_four_examples_word_for_word() -> None:
    text = (ROOT / "docs" / "experiment.md").read_text()
    blocks = [tomllib.loads(code) for kind, code in BLOCK.findall(text) if kind == "toml"]
    for path in EXPERIMENTS.glob("*.toml"):
        assert tomllib.loads(path.read_text()) in blocks, f"{path.name} is not on the page"


def test_the_document_page_names_every_figure_of_a_row() -> None:
    """The units are named too, so that documents can be read by programs without looking at the
    source.
    """
    text = (ROOT / "docs" / "document.md").read_text()
    definitions = json.loads(_core.schema("document"))["$defs"]
    for group in ("Memory", "Paging", "Time", "LaunchFigures", "Spread", "Classes", "Energy", "MediumUse", "Wear", "Row", "SeedRow"):
        missing = [key for key in definitions[group]["properties"] if f"`{key}`" not in text]
        assert missing == [], (group, missing)
    missing = [key for key in json.loads(_core.schema("document"))["properties"] if f"`{key}`" not in text]
    assert missing == []


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed (swaplab[docs])")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    index = (tmp_path / "site" / "index.html").read_text()
    assert index.count("<svg viewBox") == 1 and all(f">{name}</text>" in index for name in ("experiment", "phone", "vm", "report"))
    commands = (tmp_path / "site" / "reference" / "commands.html").read_text()
    assert "swaplab trace import" in commands and "--fail-above" in commands
    assert "FifoPolicy" in (tmp_path / "site" / "how-to" / "policy-author.html").read_text()
    reference = (tmp_path / "site" / "reference" / "experiment.html").read_text()
    assert "foreground" in reference and "app_policy" in reference
    assert "swap_out_bytes" in (tmp_path / "site" / "reference" / "document.html").read_text()
    assert "spo-clock" in (tmp_path / "site" / "reference" / "registry.html").read_text()


def test_every_promise_names_an_existing_test() -> None:
    named = re.findall(r"`((?:tests|crates)/[\w/.]+)::(\w+)`", (ROOT / "docs/trust.md").read_text())
    assert len(named) > 30
    for path, name in named:
        text = (ROOT / path).read_text()
        assert re.search(rf"\b(def|fn) {name}\(", text), f"docs/trust.md: {path}::{name} does not exist"


def test_the_tools_that_run_as_root_are_listed() -> None:
    """SECURITY.md's list equals the tools called in the world `kernel`."""
    called = re.compile(r'(?:command\(|(?:mount|attach) = [\[(])"(\w+)"')
    files = (ROOT / "python/swaplab/worlds/kernel").rglob("*.py")
    used = {name for path in files for name in called.findall(path.read_text())}
    listed = (ROOT / "SECURITY.md").read_text().partition("As root run:")[2].partition("Apps run")[0]
    assert used >= {"swapon", "mount", "losetup"} and set(re.findall(r"`(\w+)`", listed)) - {"kernel"} == used
