"""The notebooks in examples/, cell by cell in one namespace, as a reader would run them; what a cell shows must show as HTML or text."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent.parent / "examples").glob("*.ipynb"))


def run_cell(source: str, namespace: dict[str, Any]) -> Any:
    """Run a cell; the value of its last expression, if it ends with one."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), namespace)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), namespace) if isinstance(last, ast.Expr) else None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path) -> None:
    notebook = json.loads(path.read_text())
    namespace: dict[str, Any] = {}
    shown = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert not cell["outputs"], "outputs are not kept in the repository"
            value = run_cell("".join(cell["source"]), namespace)
            if value is not None:
                shown += 1
                assert value is not False
                html = value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)
                assert len(html) > 0 and "Traceback" not in html
    assert shown >= 3


def test_there_are_notebooks() -> None:
    assert {path.stem for path in NOTEBOOKS} >= {"which_policy", "sweep"}
