"""Check the rules of CONTRIBUTING.md for names, comments and documents (`make lint`; offline).

`python tools/check_words.py [ROOT]` checks the files that git knows below ROOT, by default this
repository. Prints a line for each problem; the exit code is 1 if there is one, and 2 for bad usage.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

#: Longest line of a comment.
COLUMNS = 100
#: Generated files, whose comments come from elsewhere (tools/generate_model.py).
GENERATED = {"python/swaplab/core/model.py"}
#: Names that do not say what a function or a module is or does.
VAGUE = {"again", "apart", "beside", "found", "held", "more", "one", "said", "whole"}
#: Folders of docs/ whose pages all are in the site's navigation (tools/docs_hook.py).
NAVIGATED = {"docs", "docs/how-to", "docs/models", "docs/papers"}
#: Citations that a reader outside the project cannot follow.
CITATIONS = [re.compile(text) for text in (r"papers/\d", r"READING \d", r"READING\.md", r"\b[Pp]apers? \d{1,3}\b(?![.,]\d)")]
#: The same, where a letter and a digit could be something else in code.
SHORT_CITATION = re.compile(r"\bP\d\b")
#: Places outside the repository, which documents must not name.
PLACES = [re.compile(text) for text in (r"\.\./shared", r"/work/")]
#: The start of a comment that fills its line, by the ending of the file's name.
COMMENT = {".rs": "//", ".sh": "#", ".toml": "#", ".yml": "#", "Makefile": "#"}
DEFINITION = re.compile(r"\s*(?:(?:pub(?:\([a-z]+\))?|async|const|unsafe) )*(?:fn|def|mod) (\w+)")
LINK = re.compile(r"\]\(([^)#\s]*)")

#: A line's number and what is wrong there.
Problem = tuple[int, str]


def comments(name: str, text: str) -> dict[int, str]:
    """Map the numbers of lines that are comments, or lines of docstrings, to the lines."""
    lines = text.splitlines()
    path = PurePosixPath(name)
    if path.suffix == ".py":
        return python_comments(text, lines)
    start = COMMENT.get(path.suffix or path.name)
    return {number: line for number, line in enumerate(lines, 1) if start and line.lstrip().startswith(start)}


def python_comments(text: str, lines: list[str]) -> dict[int, str]:
    """Do the same for Python. The tokenizer distinguishes comments from strings with `#`."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    starts = {token.start for token in tokens if token.type == tokenize.COMMENT}
    numbers = {row for row, column in starts if not lines[row - 1][:column].strip()}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            numbers.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return {number: lines[number - 1] for number in sorted(numbers)}


def long_comments(commented: dict[int, str]) -> Iterator[Problem]:
    for number, line in commented.items():
        if len(line) > COLUMNS:
            yield number, f"a comment of {len(line)} columns; expected at most {COLUMNS}"


def vague_names(name: str, text: str) -> Iterator[Problem]:
    """Find functions and modules with a vague name. Expects the text of a Rust or Python file."""
    path = PurePosixPath(name)
    if path.stem in VAGUE:
        yield 1, f"the module's name '{path.stem}' does not say what it is; expected a noun"
    for number, line in enumerate(text.splitlines(), 1):
        if (defined := DEFINITION.match(line)) and defined[1] in VAGUE:
            yield number, f"the name '{defined[1]}' does not say what it does; expected a verb, or a question if it is a truth value"


def private_citations(text: dict[int, str], patterns: list[re.Pattern[str]]) -> Iterator[Problem]:
    for number, line in text.items():
        for pattern in patterns:
            if cited := pattern.search(line):
                yield number, f"cites '{cited[0]}'; expected author, year and section"


def private_places(text: dict[int, str]) -> Iterator[Problem]:
    for number, line in text.items():
        for pattern in PLACES:
            if named := pattern.search(line):
                yield number, f"names '{named[0]}', which is not in the repository; expected a path in it, or a link"


def links(text: str) -> Iterator[tuple[int, str]]:
    """Find a document's relative links outside code blocks: line numbers and paths.

    Pages in `reference/` are left out, because they are generated when the site is built.
    """
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code:
            for target in LINK.findall(line):
                if target and ":" not in target and not target.startswith("/") and "reference/" not in target:
                    yield number, target


def unlinked(documents: dict[str, str], root: Path) -> Iterator[str]:
    """Find documents in docs/ that are neither in the site's navigation nor linked, and decisions
    that are not in their index.
    """
    targets: dict[Path, set[str]] = {}
    for name, text in documents.items():
        for _, target in links(text):
            targets.setdefault((root / name).parent.joinpath(target).resolve(), set()).add(name)
    for name in documents:
        folder = str(PurePosixPath(name).parent)
        linking = targets.get((root / name).resolve(), set()) - {name}
        if folder == "docs/decisions" and not name.endswith("README.md"):
            if "docs/decisions/README.md" not in linking:
                yield f"{name}:1: not in docs/decisions/README.md; expected a line there"
        elif name.startswith("docs/") and folder not in NAVIGATED and not linking:
            yield f"{name}:1: no page links this document; expected a link, or one of the folders {', '.join(sorted(NAVIGATED))}"


def check(root: Path, names: list[str]) -> list[str]:
    """Check files, given by their paths below `root`. Returns a line for each problem."""
    problems: list[str] = []
    documents: dict[str, str] = {}
    for name in sorted(names):
        path = root / name
        suffix = path.suffix or path.name
        if suffix not in (*COMMENT, ".py", ".md", ".c", ".h") or not path.is_file():
            continue
        text = path.read_text()
        lines = dict(enumerate(text.splitlines(), 1))
        found: list[Problem] = []
        if suffix == ".md":
            documents[name] = text
            found += private_citations(lines, [*CITATIONS, SHORT_CITATION])
            if name == "README.md" or (name.startswith("docs/") and not name.startswith("docs/decisions/")):
                found += private_places(lines)
            found += [(number, f"dead link '{target}'; expected a path relative to this file") for number, target in links(text)
                      if not (path.parent / target).exists()]  # fmt: skip
        elif name not in GENERATED:
            commented = comments(name, text)
            found += long_comments(commented)
            found += private_citations(commented, [*CITATIONS, SHORT_CITATION])
            if suffix in (".rs", ".py"):
                found += vague_names(name, text)
        problems += [f"{name}:{number}: {what}" for number, what in sorted(found)]
    return problems + list(unlinked(documents, root))


def main(arguments: list[str]) -> int:
    """Check a repository. Returns the exit code."""
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        print("usage: check_words.py [ROOT]", file=sys.stderr)
        return 2
    root = Path(arguments[0]) if arguments else Path(__file__).parent.parent
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True)
    if listed.returncode != 0:
        print(f"{root}: git does not list its files ({listed.stderr.strip()}); expected a git repository", file=sys.stderr)
        return 2
    names = [name for name in listed.stdout.split("\0") if name]
    problems = check(root, names)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
