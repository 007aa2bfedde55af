"""What `mkdocs build` adds to the pages in docs/: the reference made from the code, included sources, and the order of the pages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
FIRST = ["index.md", "first-hour.md"]
LAST = ["trace-format.md", "limits.md"]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    docs = Path(config.docs_dir)

    def pages(folder: str) -> list[str]:
        return sorted(str(path.relative_to(docs)) for path in (docs / folder).glob("*.md"))

    reference = [f"reference/{name}.md" for name in ("commands", "experiment", "registry")]
    known = {*FIRST, *LAST}
    rest = [page for page in pages(".") if page not in known]
    last = [page for page in LAST if (docs / page).exists()]
    config.nav = [*FIRST, {"How to": pages("how-to")}, {"Models": pages("models")}, {"Reference": reference}, *rest, *last]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, content in (("commands", commands()), ("experiment", experiment()), ("registry", registry())):
        files.append(File.generated(config, f"reference/{name}.md", content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """`<!-- include: PATH -->` becomes that file, so that the page shows what is compiled and tested."""

    def source(found: re.Match[str]) -> str:
        path = ROOT / found[1]
        return f"```{path.suffix.removeprefix('.').replace('rs', 'rust')}\n{path.read_text()}```"

    return re.sub(r"<!-- include: (\S+) -->", source, markdown)


def commands() -> str:
    """Every command with its help, as the command itself prints it."""
    from swaplab.cli import command_line
    from swaplab.cli.parser import Parser

    def walk(parser: Parser) -> Iterator[str]:
        if parser.prog != "swaplab":
            yield f"## {parser.prog}\n\n```text\n{parser.format_help().strip()}\n```\n"
        if parser.commands is not None:
            for child in parser.commands.choices.values():
                yield from walk(child)

    intro = (
        "# Commands\n\nResults go to standard output, progress and notes to standard error; `--json` prints one document. "
        "Sizes: `64MiB`, `4096p` (pages), `5%` (of the trace's footprint). Exit codes: 0 well, 1 failed, 2 bad usage or input, "
        "3 not supported on this machine, 130 interrupted.\n\n"
    )
    return intro + "\n".join(walk(command_line()))


def experiment() -> str:
    """Each table of the experiment file, from its schema."""
    from swaplab import _core

    schema = json.loads(_core.experiment_schema())
    parts = [
        "# Experiment file\n",
        "TOML. `swaplab schema` prints its JSON schema; `swaplab.config` has the same as pydantic models.\n",
        _fields("Top level", schema),
    ]
    parts += [_fields(name, one) for name, one in sorted(schema["$defs"].items()) if "properties" in one]
    parts += [_choices(name, one) for name, one in sorted(schema["$defs"].items()) if "oneOf" in one]
    return "\n".join(parts)


def _fields(name: str, schema: dict[str, Any]) -> str:
    rows = [f"## {name}\n\n{schema.get('description', '')}\n\n| key | default | meaning |\n|---|---|---|"]
    for key, one in schema["properties"].items():
        default = "required" if key in schema.get("required", []) else f"`{json.dumps(one.get('default'))}`"
        rows.append(f"| `{key}` | {default} | {one.get('description', '').replace('|', '/')} |")
    return "\n".join(rows) + "\n"


def _choices(name: str, schema: dict[str, Any]) -> str:
    # Values without a description of their own come as one option.
    described = [
        (value, option.get("description", "")) for option in schema["oneOf"] for value in option.get("enum", [option.get("const")])
    ]
    rows = [f"- `{value}`" + (f": {text}" if text else "") for value, text in described]
    return "\n".join([f"## {name}\n", *rows]) + "\n"


def registry() -> str:
    """Policies, devices and formats, as `swaplab list` knows them."""
    from swaplab import _core

    parts = ["# Policies, devices, formats\n", "## Policies\n", "| key | what | signal | parameters | source |", "|---|---|---|---|---|"]
    for one in json.loads(_core.policies()):
        parameters = "; ".join(f"`{p['name']}={p['default']}` {p['meaning']}" for p in one["parameters"])
        parts.append(f"| `{one['key']}` | {one['what']} | {one['signal']} | {parameters} | {one['source']} |")
    parts += ["\n## Devices\n", "| key | what |", "|---|---|"]
    parts += [f"| `{one['key']}` | {one['what']} |" for one in json.loads(_core.devices())]
    parts += ["\n## Trace formats\n", "| key | what | kind |", "|---|---|---|"]
    parts += [f"| `{one['key']}` | {one['what']} | {one['kind']} |" for one in json.loads(_core.trace_formats())]
    return "\n".join(parts) + "\n"
