"""The command `swaplab` for tests, as a separate process or, for many calls, within the test's
process.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import typer
from swaplab import cli

ROOT = Path(__file__).parents[2]
SWAPLAB = Path(sys.executable).parent / "swaplab"
DATA = ROOT / "python" / "swaplab" / "data"
EXPERIMENTS = Path(__file__).parent / "experiments"


def load_script(path: Path) -> ModuleType:
    """Import a script that is in no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class Done:
    """The exit code and output of a call."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON document that a successful call with `--json` printed."""
        assert self.code == 0, self.err
        return json.loads(self.out)

    def refuses(self, *parts: str, code: int = 2) -> None:
        """Assert that the call was refused: no standard output, and one line on standard error that
        contains each part.

        With code 3, progress lines of a live world may precede the message.
        """
        assert self.code == code and self.out == "", self
        assert self.err.endswith("\n") and self.err.splitlines()[-1].startswith("swaplab: "), self.err
        assert code == 3 or self.err.count("\n") == 1, self.err
        assert "Traceback" not in self.err
        assert [part for part in parts if part not in self.err] == [], self.err


def swaplab(*words: object, cwd: Path | None = None, stdin: bytes | None = None, timeout: float = 300) -> Done:
    """Run the command as a separate process."""
    call = [str(SWAPLAB), *(word if isinstance(word, (str, bytes)) else str(word) for word in words)]
    done = subprocess.run(call, input=stdin if stdin is not None else b"", capture_output=True, cwd=cwd, timeout=timeout)
    return Done(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def here(*words: object) -> Done:
    """Run the command in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with patch.object(sys, "argv", ["swaplab", *map(str, words)]), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
    return Done(code, *texts)


def csv_trace(path: Path, references: int = 500, pages: int = 31) -> Path:
    """Write a small page trace as CSV, in which every second reference is a write."""
    path.write_text("page,op\n" + "".join(f"{(at * 7) % pages},{'RW'[at % 2]}\n" for at in range(references)))
    return path


def command_names() -> list[str]:
    """List the full names of all commands and groups."""

    def below(command: object, name: str) -> list[str]:
        inner = getattr(command, "commands", {}).items()
        return [*([name] if name else []), *(one for child, of in inner for one in below(of, f"{name} {child}".strip()))]

    return below(typer.main.get_command(cli.app_with()), "")
