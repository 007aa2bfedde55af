"""The code blocks of README and docs, run as a reader would: a page is a folder, its blocks run in order.

`bash` blocks run with -eu; `python` blocks of a page share a namespace; a `toml` block whose first line is `# file: NAME` is written there.
`text` is output and `rust` an included source; any other kind of block is an error.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted(path for path in (ROOT / "docs").rglob("*.md") if "decisions" not in path.parts)]
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
WITH_CODE = [page for page in PAGES if any(kind in ("bash", "python", "toml") for kind, _ in BLOCK.findall(page.read_text()))]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    namespace: dict[str, Any] = {}
    for kind, code in BLOCK.findall(page.read_text()):
        if kind == "toml" and (name := re.match(r"# file: (\S+)\n", code)):
            (tmp_path / name[1]).write_text(code)
        elif kind == "python":
            exec(compile(code, str(page), "exec"), namespace)
        elif kind == "bash":
            done = subprocess.run(["bash", "-euc", code], capture_output=True, text=True, timeout=120, env=os.environ | {"PATH": path})
            assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"


def test_every_block_is_of_a_known_kind() -> None:
    kinds = {(kind, str(page.relative_to(ROOT))) for page in PAGES for kind, _ in BLOCK.findall(page.read_text())}
    assert {kind for kind, _ in kinds} <= {"bash", "python", "toml", "text", "json", "math", "rust", "c", ""}, sorted(kinds)


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed (swaplab[docs])")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    commands = (tmp_path / "site" / "reference" / "commands.html").read_text()
    assert "swaplab trace import" in commands and "--fail-above" in commands
    assert "FifoPolicy" in (tmp_path / "site" / "how-to" / "policy-author.html").read_text()
