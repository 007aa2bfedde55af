"""Write `python/swaplab/core/model.py`: the experiment and the document as pydantic classes, from the JSON schema of their Rust types.

Run: `.venv/bin/python tools/generate_model.py`. A test fails while the file differs from what this prints.
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
    extra = schema.get("additionalProperties", False)
    allowed = "forbid" if extra is False else "allow"
    lines = [f"class {name}(BaseModel):", *textwrap.wrap(f'"""{line(schema)}"""', 136, initial_indent="    ", subsequent_indent="    "), ""]
    lines += [f'    model_config = ConfigDict(extra="{allowed}", use_attribute_docstrings=True, validate_by_name=True)', ""]
    if extra is not False:
        lines += [f"    __pydantic_extra__: dict[str, {python_type(extra)}] = Field(init=False)"]
    for field, one in schema.get("properties", {}).items():
        arguments = [] if field in schema.get("required", []) else [default(one, defs)]
        arguments += [f"ge={one['minimum']}"] if "minimum" in one else []
        name = RENAMED.get(field, field.replace("-", "_"))
        arguments += [f"alias={json.dumps(field)}"] if name != field else []
        lines.append(f"    {name}: {python_type(one)}" + (f" = Field({', '.join(arguments)})" if arguments else ""))
        if line(one):
            lines += textwrap.wrap(f'"""{line(one)}"""', 136, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines) + "\n"


def default(one: dict[str, Any], defs: dict[str, Any]) -> str:
    kind, value = python_type(one), one.get("default")
    if "None" in kind.split(" | ") and value is None:
        return "default=None"
    if value is None and kind in ZERO:  # a field that Rust omits when it is empty has no default in the schema
        return f"default={ZERO[kind]}"
    if "$ref" in one and defs[kind].get("type") == "object":
        if not defs[kind].get("required"):
            return f"default_factory={kind}"  # its fields have their own defaults
        given = ", ".join(f"{key}={json.dumps(given)}" for key, given in value.items())
        return f"default_factory=lambda: {kind}({given})"
    if kind.startswith(("dict", "Many")) and not value:
        return f"default_factory={'list' if kind.startswith('Many') else 'dict'}"
    return f"default={value!r}" if not isinstance(value, str) else f"default={json.dumps(value, ensure_ascii=False)}"


def python_type(one: Any) -> str:
    if "$ref" in one:
        return str(one["$ref"].rsplit("/", 1)[-1])
    if "const" in one:
        return f"Literal[{json.dumps(one['const'])}]"
    for word in ("oneOf", "anyOf"):
        if word in one:
            if all("const" in option for option in one[word]):
                return f"Literal[{', '.join(json.dumps(option['const']) for option in one[word])}]"
            return " | ".join(dict.fromkeys(python_type(option) for option in one[word]))
    if "enum" in one:
        return f"Literal[{', '.join(json.dumps(option) for option in one['enum'])}]"
    kind = one["type"]
    if isinstance(kind, list):
        # Integers are kept: 3000 must not become 3000.0.
        return " | ".join("int | float" if name == "number" else python_type({**one, "type": name}) for name in kind)
    if kind == "array":
        inner = python_type(one["items"])
        return f"tuple[{inner}, {inner}]" if one.get("maxItems") == one.get("minItems") == 2 else f"Many[{inner}]"
    if kind == "object":
        return f"dict[str, {python_type(one['additionalProperties'])}]"
    return SIMPLE[kind]


def line(one: Any) -> str:
    return " ".join(one.get("description", "").split()) if isinstance(one, dict) else ""


if __name__ == "__main__":
    main()
