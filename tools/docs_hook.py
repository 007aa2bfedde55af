"""Hooks of `mkdocs build`: the reference generated from the code, included sources, and the order
of pages.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from swaplab import _core
from swaplab.cli import app_with
from swaplab.core.registry import KINDS, rows

# mkdocs loads this file alone, without its folder on the path.
sys.path.insert(0, str(Path(__file__).parent))
from diagram import svg  # noqa: E402

ROOT = Path(__file__).parent.parent
FIRST = ["index.md", "first-hour.md", "experiment.md", "document.md"]
LAST = ["trace-format.md", "limits.md", "glossary.md"]
REFERENCE = ("commands", "experiment", "document", "registry")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    docs = Path(config.docs_dir)

    def pages(folder: str) -> list[str]:
        return sorted(str(path.relative_to(docs)) for path in (docs / folder).glob("*.md"))

    known = {*FIRST, *LAST}
    rest = [page for page in pages(".") if page not in known]
    reference = [f"reference/{name}.md" for name in REFERENCE]
    sections: list[Any] = [{"How to": pages("how-to")}, {"Models": pages("models")}, {"Reference": reference}]
    papers = [{"Papers": sorted(pages("papers"), key=lambda page: (page != "papers/index.md", page))}]
    config.nav = [*FIRST, *sections, *papers, *rest, *LAST]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    made = {"commands": commands(), "experiment": tables("experiment"), "document": tables("document"), "registry": registry()}
    for name, content in made.items():
        files.append(File.generated(config, f"reference/{name}.md", content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace `<!-- include: PATH -->` by the file, so that pages show compiled and tested code.
    Draw `<!-- diagram: LABEL` comments.
    """

    def source(found: re.Match[str]) -> str:
        path = ROOT / found[1]
        return f"```{path.suffix.removeprefix('.').replace('rs', 'rust')}\n{path.read_text()}```"

    def drawing(found: re.Match[str]) -> str:
        return f"<div>{svg(found[2], found[1])}</div>"

    drawn = re.sub(r"<!-- diagram: ([^\n]+)\n(.*?)-->", drawing, markdown, flags=re.DOTALL)
    return re.sub(r"<!-- include: (\S+) -->", source, drawn)


def commands() -> str:
    """Format every command with its help text."""
    root = typer.main.get_command(app_with())

    def walk(command: Any, name: str, above: Any) -> Iterator[str]:
        with command.make_context(name, [], parent=above, resilient_parsing=True, terminal_width=80) as context:
            if above is not None:
                yield f"## {context.command_path}\n\n```text\n{command.get_help(context).strip()}\n```\n"
            for child, inner in getattr(command, "commands", {}).items():
                yield from walk(inner, child, context)

    intro = (
        "# Commands\n\nResults go to standard output, progress and notes to standard error; `--json` prints one document. "
        "Exit codes: 0 well, 1 failed, 2 bad usage or input, 3 not supported on this machine (what is missing is named), 130 interrupted. "
        "`swaplab --install-completion` teaches your shell (bash, zsh, fish) the words below.\n\n"
    )
    return intro + "\n".join(walk(root, "swaplab", None))


def tables(of: str) -> str:
    """Format each type of the experiment or the document from its JSON schema: keys, types,
    defaults, descriptions.
    """
    schema = json.loads(_core.schema(of))
    page = "../experiment.md" if of == "experiment" else "../document.md"
    definitions = schema["$defs"]
    used = reachable(schema, definitions)
    parts = [
        f"# {of.capitalize()}: every key\n",
        f"`swaplab schema {of}` prints the JSON schema that this page is made from; `swaplab.core.model` has the same as Python classes. "
        f"[What it means]({page}).\n",
        fields("The whole", schema),
        *(fields(name, definitions[name]) for name in used if "properties" in definitions[name]),
        *(choices(name, definitions[name]) for name in used if "oneOf" in definitions[name] or "enum" in definitions[name]),
    ]
    return "\n".join(parts)


def reachable(schema: Any, definitions: dict[str, Any]) -> list[str]:
    """List the types that a schema uses in the order of first use, without those of the experiment,
    which have their own page.
    """
    names: list[str] = []

    def look(at: Any) -> None:
        if isinstance(at, dict):
            name = at.get("$ref", "").rsplit("/", 1)[-1]
            if name and name not in names and not (name == "Experiment" and schema is not definitions[name]):
                names.append(name)
                look(definitions[name])
            for key, value in at.items():
                if key != "$defs":
                    look(value)
        elif isinstance(at, list):
            for value in at:
                look(value)

    look(schema)
    return names


def kind(part: Any) -> str:
    """Format the type of a key."""
    if "$ref" in part:
        name = part["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})" if name != "Experiment" else "[experiment](experiment.md)"
    for word in ("oneOf", "anyOf"):
        if word in part:
            return " or ".join(dict.fromkeys(kind(option) for option in part[word] if option.get("type") != "null"))
    if "enum" in part or "const" in part:
        return " or ".join(f"`{option}`" for option in part.get("enum", [part.get("const")]))
    json_type = part.get("type", "any")
    names = {
        "string": "text",
        "integer": "whole number",
        "number": "number",
        "boolean": "true or false",
        "object": "table",
        "array": "list",
    }
    if isinstance(json_type, list):
        return " or ".join(names[name] for name in json_type if name != "null")
    if json_type == "array":
        return f"list of {kind(part.get('items', {}))}"
    if json_type == "object" and isinstance(part.get("additionalProperties"), dict):
        return f"table of {kind(part['additionalProperties'])}"
    return names.get(json_type, "any")


def cell(text: str) -> str:
    """Escape a text for a table cell."""
    return " ".join(text.replace("|", "/").split())


def fields(name: str, schema: dict[str, Any]) -> str:
    rows_of = [f"## {name}\n\n{cell(schema.get('description', ''))}\n\n| key | type | default | meaning |\n|---|---|---|---|"]
    for key, part in schema["properties"].items():
        value = part.get("default")
        default = "required" if key in schema.get("required", []) else f"`{json.dumps(value)}`" if value not in (None, {}, []) else ""
        if isinstance(value, dict):
            default = ""  # the defaults of a table are given at the table
        rows_of.append(f"| `{key}` | {cell(kind(part))} | {cell(default)} | {cell(part.get('description', ''))} |")
    return "\n".join(rows_of) + "\n"


def choices(name: str, schema: dict[str, Any]) -> str:
    found = []
    for option in schema.get("oneOf", [schema]):
        for value in option.get("enum", [option["const"]] if "const" in option else []):
            text = option.get("description", "") if option is not schema else ""
            found.append(f"- `{value}`" + (f": {cell(text)}" if text else ""))
    found = found or [f"- {kind(option)}" for option in schema.get("oneOf", [])]
    return "\n".join([f"## {name}\n", cell(schema.get("description", "")), "", *found]) + "\n"


def registry() -> str:
    """Format all registries of `swaplab list`: keys, parameters with defaults, sources."""
    parts = ["# What there is\n", "As `swaplab list KIND` prints it; a thing with parameters is written `KEY:name=value,name=value`.\n"]
    for of in KINDS:
        parts += [f"## {of.capitalize().replace('-', ' ')}\n", "| key | what | parameters | source |", "|---|---|---|---|"]
        for part in rows(of):
            parameters = "; ".join(f"`{p.name}={p.default}` {p.meaning}" for p in part.parameters)
            parts.append(f"| `{part.key}` | {cell(part.what)} | {cell(parameters)} | {cell(part.source)} |")
        parts.append("")
    return "\n".join(parts) + "\n"
