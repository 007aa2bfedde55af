"""Write `python/swaplab/core/model.py`: the experiment and the document as pydantic classes, from
the JSON schema of their Rust types.

Run: `.venv/bin/python tools/generate_model.py`. A test fails while the file differs from what this
prints.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

from swaplab import _core

TARGET = Path(__file__).parent.parent / "python" / "swaplab" / "core" / "model.py"
HEAD = '''"""The experiment and the document as pydantic classes. Generated from the Rust types by tools/generate_model.py: do not edit."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

#: By another name, for classes that have a field `list`.
Many = list
'''
SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
#: Fields whose names are attributes of pydantic's classes.
RENAMED = {"schema": "schema_version"}
ZERO = {"int": "0", "float": "0.0", "bool": "False", "str": '""'}


def main() -> None:
    TARGET.write_text(text(json.loads(_core.schema("document"))))


def text(schema: dict[str, Any]) -> str:
    """Generate the text of the module; definitions precede their uses."""
    done: dict[str, str] = {}
    for name in schema["$defs"]:
        define(name, schema["$defs"], done)
    body = [*done.values(), model("Document", schema, schema["$defs"])]
    return "\n\n".join([HEAD, *(part.rstrip("\n") + "\n" for part in body)]).rstrip("\n") + "\n"


def define(name: str, defs: dict[str, Any], done: dict[str, str]) -> None:
    if name in done:
        return
    for needed in references(defs[name]):
        define(needed, defs, done)
    part = defs[name]
    if part.get("type") == "object":
        done[name] = model(name, part, defs)
    else:
        done[name] = (f"# {line(part)}\n" if line(part) else "") + f"{name} = {python_type(part)}\n"


def references(schema: Any) -> list[str]:
    if isinstance(schema, dict):
        own = [schema["$ref"].rsplit("/", 1)[-1]] if "$ref" in schema else []
        return own + [name for value in schema.values() for name in references(value)]
    return [name for value in schema for name in references(value)] if isinstance(schema, list) else []


def model(name: str, schema: dict[str, Any], defs: dict[str, Any]) -> str:
    extra = schema.get("additionalProperties", False)
    allowed = "forbid" if extra is False else "allow"
    lines = [f"class {name}(BaseModel):", *textwrap.wrap(f'"""{line(schema)}"""', 136, initial_indent="    ", subsequent_indent="    "), ""]
    lines += [f'    model_config = ConfigDict(extra="{allowed}", validate_by_name=True, defer_build=True)', ""]
    if extra is not False:
        lines += [f"    __pydantic_extra__: dict[str, {python_type(extra)}] = Field(init=False)"]
    for field, part in schema.get("properties", {}).items():
        arguments = [] if field in schema.get("required", []) else [default(part, defs)]
        arguments += [f"ge={part['minimum']}"] if "minimum" in part else []
        name = RENAMED.get(field, field.replace("-", "_"))
        arguments += [f"alias={json.dumps(field)}"] if name != field else []
        lines.append(f"    {name}: {python_type(part)}" + (f" = Field({', '.join(arguments)})" if arguments else ""))
        if line(part):
            lines += textwrap.wrap(f'"""{line(part)}"""', 136, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines) + "\n"


def default(part: dict[str, Any], defs: dict[str, Any]) -> str:
    kind, value = python_type(part), part.get("default")
    if "None" in kind.split(" | ") and value is None:
        return "default=None"
    # a field that Rust omits when it is empty has no default in the schema
    if value is None and kind in ZERO:
        return f"default={ZERO[kind]}"
    if "$ref" in part and defs[kind].get("type") == "object":
        if not defs[kind].get("required"):
            return f"default_factory={kind}"  # its fields have their own defaults
        given = ", ".join(f"{key}={json.dumps(given)}" for key, given in value.items())
        return f"default_factory=lambda: {kind}({given})"
    if kind.startswith(("dict", "Many")) and not value:
        return f"default_factory={'list' if kind.startswith('Many') else 'dict'}"
    return f"default={value!r}" if not isinstance(value, str) else f"default={json.dumps(value, ensure_ascii=False)}"


def python_type(part: Any) -> str:
    if "$ref" in part:
        return str(part["$ref"].rsplit("/", 1)[-1])
    if "const" in part:
        return f"Literal[{json.dumps(part['const'])}]"
    for word in ("oneOf", "anyOf"):
        if word in part:
            if all("const" in option for option in part[word]):
                return f"Literal[{', '.join(json.dumps(option['const']) for option in part[word])}]"
            return " | ".join(dict.fromkeys(python_type(option) for option in part[word]))
    if "enum" in part:
        return f"Literal[{', '.join(json.dumps(option) for option in part['enum'])}]"
    kind = part["type"]
    if isinstance(kind, list):
        # Integers are kept: 3000 must not become 3000.0.
        return " | ".join("int | float" if name == "number" else python_type({**part, "type": name}) for name in kind)
    if kind == "array":
        inner = python_type(part["items"])
        return f"tuple[{inner}, {inner}]" if part.get("maxItems") == part.get("minItems") == 2 else f"Many[{inner}]"
    if kind == "object":
        return f"dict[str, {python_type(part['additionalProperties'])}]"
    return SIMPLE[kind]


def line(part: Any) -> str:
    return " ".join(part.get("description", "").split()) if isinstance(part, dict) else ""


if __name__ == "__main__":
    main()
