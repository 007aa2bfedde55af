"""Write `python/swaplab/config.py`, the pydantic models of the experiment file, from the JSON schema of its Rust types.

Run: `.venv/bin/python tools/generate_config.py`. A test fails while the file is not what this prints.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

from swaplab import _core

TARGET = Path(__file__).parent.parent / "python" / "swaplab" / "config.py"
HEAD = '''"""The experiment file as pydantic models. Generated from the Rust types by tools/generate_config.py: do not edit."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

#: By another name, for models whose fields include `list`.
Many = list
'''
SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
ZERO: dict[str, Any] = {"int": 0, "float": 0.0, "bool": False}


def main() -> None:
    TARGET.write_text(text())


def text() -> str:
    """The whole module; definitions before their users."""
    schema = json.loads(_core.experiment_schema())
    done: dict[str, str] = {}
    for name in schema["$defs"]:
        define(name, schema["$defs"], done)
    body = [*done.values(), model("Experiment", schema, schema["$defs"])]
    return "\n\n".join([HEAD, *(part.rstrip("\n") + "\n" for part in body)]).rstrip("\n") + "\n"


def define(name: str, defs: dict[str, Any], done: dict[str, str]) -> None:
    if name in done:
        return
    for needed in references(defs[name]):
        define(needed, defs, done)
    one = defs[name]
    if one.get("type") == "object":
        done[name] = model(name, one, defs)
    else:
        done[name] = (f"# {line(one)}\n" if line(one) else "") + f"{name} = {python_type(one)}\n"


def references(schema: Any) -> list[str]:
    if isinstance(schema, dict):
        own = [schema["$ref"].rsplit("/", 1)[-1]] if "$ref" in schema else []
        return own + [name for value in schema.values() for name in references(value)]
    return [name for value in schema for name in references(value)] if isinstance(schema, list) else []


def model(name: str, schema: dict[str, Any], defs: dict[str, Any]) -> str:
    config = '    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)'
    lines = [f"class {name}(BaseModel):", f'    """{line(schema)}"""', "", config, ""]
    for field, one in schema["properties"].items():
        arguments = [] if field in schema.get("required", []) else [default(one, python_type(one), defs)]
        arguments += [f"ge={one['minimum']}"] if "minimum" in one else []
        lines.append(f"    {field}: {python_type(one)}" + (f" = Field({', '.join(arguments)})" if arguments else ""))
        if line(one):
            lines += textwrap.wrap(f'"""{line(one)}"""', 136, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines) + "\n"


def default(one: dict[str, Any], kind: str, defs: dict[str, Any]) -> str:
    # A field that Rust leaves out when it is zero has no default in the schema.
    value = one.get("default", ZERO.get(kind))
    if isinstance(value, dict) and value and "$ref" in one:
        if not defs[kind].get("required"):
            return f"default_factory={kind}"  # its fields have defaults of their own
        given = ", ".join(f"{key}={number:g}" for key, number in value.items() if isinstance(number, (int, float)))
        return f"default_factory=lambda: {kind}({given})"
    if isinstance(value, list) and value:
        return f"default={json.dumps(value)}"  # pydantic gives each model a copy
    if isinstance(value, (list, dict)) or (value is None and kind.startswith(("dict", "Many"))):
        return f"default_factory={'list' if kind.startswith('Many') else 'dict'}"
    return f"default={'None' if value is None else json.dumps(value) if isinstance(value, str) else repr(value)}"


def python_type(one: Any) -> str:
    if one is True or one == {}:
        return "Any"
    if "$ref" in one:
        return str(one["$ref"].rsplit("/", 1)[-1])
    if "const" in one:
        return f"Literal[{json.dumps(one['const'])}]"
    for word in ("oneOf", "anyOf"):
        if word in one:
            if all("const" in option for option in one[word]):
                return f"Literal[{', '.join(json.dumps(option['const']) for option in one[word])}]"
            return " | ".join(python_type(option) for option in one[word])
    kind = one.get("type")
    if isinstance(kind, list):
        return " | ".join(SIMPLE[name] for name in kind)
    if kind == "array":
        return f"Many[{python_type(one.get('items', True))}]"
    if kind == "object":
        return f"dict[str, {python_type(one.get('additionalProperties', True))}]"
    return SIMPLE[kind] if kind else "Any"


def line(one: Any) -> str:
    return " ".join(one.get("description", "").split()) if isinstance(one, dict) else ""


if __name__ == "__main__":
    main()
