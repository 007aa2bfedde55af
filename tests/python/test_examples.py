"""The content of examples/: notebooks, run cell by cell in one namespace; experiments; a
user-defined policy.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from command import DATA, ROOT, here

EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
FILES = sorted(EXAMPLES.glob("*.toml"))


def run_cell(source: str, namespace: dict[str, Any]) -> Any:
    """Run a cell. Returns the value of its last expression, if it ends with one."""
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


def test_notebooks_exist() -> None:
    assert {path.stem for path in NOTEBOOKS} >= {"which_policy", "sweep"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_experiment_is_accepted_by_its_worlds(path: Path) -> None:
    found = here("check", path, "--json").document
    refused = {(one["design"], world): one["worlds"][world] for one in found["designs"] for world in found["on"]}
    assert refused and all(answer is True for answer in refused.values()), refused


def test_the_example_policy_runs_and_its_parameter_has_an_effect(tmp_path: Path) -> None:
    mine = EXAMPLES / "mine.py"
    words = ("--policy", f"lru,{mine}:Mine,{mine}:Mine:protect=64", "--memory", "10%")
    lru, own, protecting = here("replay", DATA / "djpeg.slt", *words, "--json").document["rows"]
    assert own["paging"] == lru["paging"], "without a window it is LRU"
    assert protecting["paging"]["swap_writes"] < lru["paging"]["swap_writes"]
