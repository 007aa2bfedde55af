"""`tools/check_words.py`: each problem is reported with its place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from command import ROOT, load_script

LONG = "x" * 100


@pytest.fixture(scope="module")
def words() -> ModuleType:
    return load_script(ROOT / "tools" / "check_words.py")


def problems(words: ModuleType, root: Path, **files: str) -> list[str]:
    """Write files, whose names have `__` for `/` and `_dot_` for `.`, and check them."""
    names = [name.replace("__", "/").replace("_dot_", ".") for name in files]
    for name, text in zip(names, files.values(), strict=True):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    found: list[str] = words.check(root, names)
    return found


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("a_dot_rs", f'// {LONG}\nlet s = "{LONG}"; // {LONG}\n', [1]),
        ("a_dot_py", f'"""Summary.\n\n{LONG}x\n"""\n\nx = """\n# {LONG}\n"""\n# {LONG}\n', [3, 9]),
        ("a_dot_toml", f"x = 1\n  # {LONG}\n", [2]),
        ("Makefile", f"# {LONG}\na:\n\techo {LONG}\n", [1]),
        ("python__swaplab__core__model_dot_py", f"# {LONG}\n", []),
    ],
)
def test_long_comments_are_reported(words: ModuleType, tmp_path: Path, name: str, text: str, lines: list[int]) -> None:
    found = problems(words, tmp_path, **{name: text})
    assert [int(line.split(":")[1]) for line in found] == lines
    assert all(line.endswith("columns; expected at most 100") for line in found)


def test_vague_names_are_reported(words: ModuleType, tmp_path: Path) -> None:
    rust = "mod tests;\npub(crate) const fn held() {}\nlet held = 1;\nfn is_held() {}\n"
    found = problems(words, tmp_path, a_dot_rs=rust, said_dot_py="class A:\n    async def again(self) -> None: ...\n")
    assert [line.split(" does")[0] for line in found] == [
        "a.rs:2: the name 'held'",
        "said.py:1: the module's name 'said'",
        "said.py:2: the name 'again'",
    ]


def test_citations_by_number_are_reported(words: ModuleType, tmp_path: Path) -> None:
    found = problems(
        words, tmp_path, a_dot_rs='// as in paper 3\nlet x = "P6";\n// see P3\n', b_dot_md="of paper 0.34, papers/a2s, p95\npapers/004\n"
    )
    assert [line.split(";")[0] for line in found] == ["a.rs:1: cites 'paper 3'", "a.rs:3: cites 'P3'", "b.md:2: cites 'papers/0'"]


def test_dead_links_and_unlinked_documents_are_reported(words: ModuleType, tmp_path: Path) -> None:
    index = "[a](a.md) [b](gone.md#x) [c](https://x.org) [d](#here) [e](decisions/0002-b.md)\n```\n[f](gone.md)\n```\n"
    found = problems(
        words,
        tmp_path,
        docs__index_dot_md=index,
        docs__a_dot_md="in /work/main\n",
        docs__notes__x_dot_md="Nobody links this.\n",
        **{"docs__decisions__README_dot_md": "[1](0001-a.md)", "docs__decisions__0001-a_dot_md": "", "docs__decisions__0002-b_dot_md": ""},
    )
    assert [line.split(";")[0] for line in found] == [
        "docs/a.md:1: names '/work/', which is not in the repository",
        "docs/index.md:1: dead link 'gone.md'",
        "docs/decisions/0002-b.md:1: not in docs/decisions/README.md",
        "docs/decisions/README.md:1: no page links this document",
        "docs/notes/x.md:1: no page links this document",
    ]


def test_exit_codes(tmp_path: Path) -> None:
    def code(*arguments: object) -> int:
        command = [sys.executable, str(ROOT / "tools" / "check_words.py"), *map(str, arguments)]
        return subprocess.run(
            command, capture_output=True, env={"GIT_CEILING_DIRECTORIES": str(tmp_path.parent), "PATH": "/usr/bin:/bin"}
        ).returncode

    assert (code("--help"), code("a", "b"), code(tmp_path)) == (2, 2, 2)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    assert code(tmp_path) == 0
    (tmp_path / "a.sh").write_text(f"# {LONG}\n")
    assert code(tmp_path) == 1
