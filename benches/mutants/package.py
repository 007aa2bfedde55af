"""Mutants of the Python package, by the operators of cosmic-ray: a replaced operator, number,
boolean or exception, a negated condition, a loop without iterations, a removed decorator.

Annotations are left out, because no test evaluates them, and so is the generated `core/model.py`.
If an operator has several replacements at one place, one of them is drawn.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections import Counter, defaultdict

from benches.mutants.copied_tree import PASSED, ROOT, run_tests, update_copy
from benches.mutants.package_tests import LEFT_OUT, tests_of
from benches.mutants.store import Mutant

PACKAGES = {"python core": "python/swaplab/core", "python analysis": "python/swaplab/analysis"}
COPY = ROOT / "target" / "mutants-python"
GENERATED = {"python/swaplab/core/model.py"}
#: pytest's exit codes where the module with the mutant cannot be imported.
NOT_COLLECTED = (2, 4)
#: Kinds of tests that `make test` runs side by side.
KINDS = "not alone and not docs and not papers and not guests and not additions"

Position = tuple[int, int]


def missing_tool() -> str | None:
    """Say how to install what is missing."""
    return None if importlib.util.find_spec("cosmic_ray") else "cosmic-ray is missing: make .venv/mutants"


def mutants(package: str) -> list[Mutant]:
    """List the mutants of a package."""
    files = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / PACKAGES[package]).rglob("*.py"))
    return [mutant for path in files if path not in GENERATED for mutant in mutants_of_file(path)]


def mutants_of_file(path: str) -> list[Mutant]:
    """List the mutants of a file, one for each place and kind of operator. A mutant's name is
    `PATH OPERATOR OCCURRENCE`.
    """
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    source = (ROOT / path).read_text()
    lines, annotated = source.splitlines(), annotated_ranges(source)
    nodes = list(ast_nodes(get_ast(source)))
    places: dict[tuple[Position, str], list[tuple[str, int, int]]] = defaultdict(list)
    for operator in operator_names():
        kind = get_operator(operator)
        if kind.arguments():
            continue
        positions = [start for node in nodes for start, _ in kind().mutation_positions(node)]
        for occurrence, start in enumerate(positions):
            number = positions[:occurrence].count(start)
            if not any(first <= start < end for first, end in annotated):
                places[start, operator.partition("_")[0]].append((operator, occurrence, number))
    seen: Counter[str] = Counter()
    found = []
    for (start, _), replacements in sorted(places.items()):
        line = lines[start[0] - 1].strip().replace("`", "'")
        keyed = [(f"{path}: {operator.partition('/')[2]}.{number}: {line}", operator, at) for operator, at, number in replacements]
        key, operator, occurrence = min(keyed, key=lambda one: hashlib.sha256(one[0].encode()).digest())
        seen[key] += 1
        found.append(Mutant(f"{path} {operator} {occurrence}", f"{key} #{seen[key]}"))
    return found


def annotated_ranges(source: str) -> list[tuple[Position, Position]]:
    """Locate the annotations of a file: first position and end of each, in characters."""
    lines = source.splitlines()

    def position(line: int, octets: int) -> Position:
        return line, len(lines[line - 1].encode()[:octets].decode())

    notes: list[ast.expr | None] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.AnnAssign, ast.arg)):
            notes.append(node.annotation)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            notes.append(node.returns)
    return [
        (position(note.lineno, note.col_offset), position(note.end_lineno or note.lineno, note.end_col_offset or 0))
        for note in notes
        if note is not None
    ]


def outcomes(package: str, drawn: list[Mutant], _: list[Mutant], timeout: int) -> dict[str, str]:
    """Test the mutants and return their outcomes by key. The tests of each module must first pass
    without a mutant.
    """
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    update_copy(COPY)
    for tests in sorted({tests_of(mutant.name.split()[0]) for mutant in drawn}):
        if run_tests(COPY, options_of(tests), timeout) != PASSED:
            raise SystemExit(f"without a mutant, the tests fail or take more than {timeout} s: {' '.join(tests)}")
    tried = {}
    for mutant in drawn:
        path, operator, occurrence = mutant.name.split()
        file = COPY / path
        source = file.read_text()
        try:
            file.write_text(mutate_code(source, get_operator(operator)(), int(occurrence)))
            code = run_tests(COPY, options_of(tests_of(path)), timeout)
        finally:
            file.write_text(source)
        tried[mutant.key] = "missed" if code == PASSED else "unviable" if code in NOT_COLLECTED else "caught"
        print(package, tried[mutant.key], mutant.key, flush=True)
    return tried


def options_of(tests: tuple[str, ...]) -> list[str]:
    """Return pytest's options for test files: without the kinds and names that are left out."""
    return ["-m", KINDS, "-k", " and ".join(f"not {name}" for name in LEFT_OUT), *tests]
