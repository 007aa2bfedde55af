"""Count measures of complexity of the command line and the Python package: commands, option names,
lines, untyped JSON, inner imports.

Run: `python tools/count.py [FOLDER]` in a checkout, or with the folder of another checkout to
compare.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

JSON = re.compile(r"\b(dict|Mapping)\[str, (Any|object)\]")
OPTION = re.compile(r"[\"'](--[a-z][a-z-]*)[\"']")


def sources(root: Path) -> list[Path]:
    """List the package's Python files, without generated ones."""
    files = sorted((root / "python" / "swaplab").rglob("*.py"))
    return [path for path in files if "do not edit" not in path.read_text("utf-8")[:300]]


def inner_imports(path: Path) -> Iterator[str]:
    """Yield the imports inside functions."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for one in ast.walk(node):
                if isinstance(one, (ast.Import, ast.ImportFrom)):
                    yield f"{path}:{one.lineno}"


def main() -> None:
    """Print each count."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    files = sources(root)
    texts = {path: path.read_text("utf-8") for path in files}
    cli = {path: text for path, text in texts.items() if "cli" in path.parts}
    commands = re.search(r"COMMANDS[^=]*= \((.*?)\n\)", (root / "python/swaplab/cli/__init__.py").read_text("utf-8"), re.DOTALL)
    names = sorted({name for text in cli.values() for name in OPTION.findall(text)})
    inner = sorted({place for path in files for place in inner_imports(path)})
    listed = re.findall('"([a-z_]+)"', commands[1]) if commands else []
    print(f"top-level commands: {len(listed)}")
    print(f"option names: {len(names)}: {' '.join(names)}")
    print(f"lines of python/: {sum(text.count(chr(10)) for text in texts.values())}")
    print(f"places with untyped JSON (dict[str, Any], Mapping, object): {sum(len(JSON.findall(text)) for text in texts.values())}")
    print(f"imports inside functions: {len(inner)}")
    if "-v" in sys.argv:
        print("\n".join(inner))
        for path, text in texts.items():
            for number, line in enumerate(text.splitlines(), 1):
                if JSON.search(line):
                    print(f"{path}:{number}: {line.strip()}")


if __name__ == "__main__":
    main()
