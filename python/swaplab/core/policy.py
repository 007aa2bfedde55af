"""Page-replacement policies written in Python: the functions that the core calls.

A policy is a class with three methods (`docs/how-to/policy-author.md`). Users name it by file,
`./mine.py:Mine`, or hand the class itself to `Trace.replay`.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from swaplab._core import BadInput, Pages

#: In the key of a policy that was given as a class object, this stands where other keys have the
#: file. Only this process knows such a policy.
HERE = "python"

_given: dict[str, type] = {}


@dataclass(frozen=True)
class Setup:
    """What a policy is built for: pages are numbered below `pages`; `*_ns` is what moving one page
    costs, in nanoseconds.
    """

    pages: int
    frames: int
    swap_read_ns: int
    swap_write_ns: int
    file_read_ns: int
    file_write_ns: int
    seed: int


class Policy(Protocol):
    """The three methods. Parameters that users may give are keyword-only arguments of
    `__init__(self, setup, *, bits=1)`.
    """

    def referenced(self, pages: Sequence[int], ops: bytes) -> None:
        """Pages in the order in which they were referenced since the last call; ops: 0 read, 1
        write, 2 instruction fetch.

        A page that the policy does not hold has just come into memory. `pages` is a memory view of
        32-bit numbers.
        """

    def reclaim(self, incoming: int | None, pages: Pages) -> int | Sequence[int]:
        """The page that leaves memory, or several; `incoming` is the one that needs the frame.
        `pages` tells their state.
        """

    def forget(self, pages: Sequence[int]) -> None:
        """Pages that no longer exist, in memory or not."""


METHODS = ("referenced", "reclaim", "forget")

#: Values of a parameter that is true or false, as for policies of the core.
SWITCH = {"on": True, "true": True, "off": False, "false": False}


class Unfit(Exception):
    """An error with what was found and what was expected, to which the core adds the place."""


def key_of(policy: str | type) -> str:
    """The key of a policy given by key or as a class. A class is registered under its name in this
    process. Raises BadInput for anything else.
    """
    if isinstance(policy, str):
        return policy
    if not isinstance(policy, type):
        raise BadInput(f"policy: {policy!r}; expected a key of `swaplab list policies`, or a class")
    _given[policy.__qualname__] = policy
    return f"{HERE}:{policy.__qualname__}"


def read(file: str) -> list[tuple[str, type]]:
    """The policies of a file, by name."""
    if file == HERE:
        if not _given:
            raise Unfit("no class was given to this process", "FILE.py:NAME, which any process can load")
        return list(_given.items())
    path = Path(file)
    if not path.is_file():
        raise Unfit("no such file", "a Python file with a policy")
    # The name contains the path, so that two files called mine.py are two modules.
    name = f"swaplab.policy.file:{path.resolve()}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None, "a name that ends in .py has a loader"
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by name.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise Unfit(one_line(error), "a Python file that can be imported") from error
    classes = [(key, value) for key, value in vars(module).items() if isinstance(value, type) and value.__module__ == name]
    fit = [(key, value) for key, value in classes if any(hasattr(value, method) for method in METHODS)]
    if not fit:
        raise Unfit("no class with " + ", ".join(METHODS), "a policy")
    return fit


def describe(policy: type) -> tuple[str, str, list[tuple[str, str]]]:
    """The first line of the class's docstring, the signal that it needs, and its parameters with
    defaults.
    """
    missing = [method for method in METHODS if not callable(getattr(policy, method, None))]
    if missing:
        raise Unfit(f"no method '{missing[0]}'", "a class with " + ", ".join(METHODS))
    text = (inspect.getdoc(policy) or "").partition("\n")[0]
    defaults = [(name, str(default)) for name, default in _parameters(policy).items()]
    return text, str(getattr(policy, "signal", "exact")), defaults


def build(policy: type, setup: dict[str, Any], values: list[tuple[str, str]]) -> object:
    """Build an instance. Parameters are converted to the types of their defaults."""
    defaults = _parameters(policy)
    given: dict[str, Any] = {}
    for name, text in values:
        kind = type(defaults[name])
        try:
            given[name] = SWITCH[text] if kind is bool else text if kind is type(None) else kind(text)
        except (ValueError, KeyError):
            raise Unfit(f"{name}={text}", "on or off" if kind is bool else f"a value such as {defaults[name]!r}") from None
    return policy(Setup(**setup), **given)


def _parameters(policy: type) -> dict[str, Any]:
    signature = inspect.signature(policy)
    return {p.name: p.default for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY and p.default is not p.empty}


def one_line(error: BaseException) -> str:
    """An exception in one line, with the line of code that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}"
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return " ".join(f"{type(error).__name__}: {error}{where}".split())
