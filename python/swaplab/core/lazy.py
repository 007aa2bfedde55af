"""Libraries that are loaded at their first use, because most commands do not use them."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType


class _Unloaded(ModuleType):
    """Takes the place of a module until one of its attributes is used. The standard library's
    `LazyLoader` would load it at the statement `import`, which reads `__spec__`.
    """

    def __getattr__(self, name: str) -> object:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def load_at_first_use(*names: str) -> None:
    """Defer the loading of modules, except those that are imported already."""
    for name in names:
        spec = None if name in sys.modules else find_spec(name)
        if spec is not None:
            sys.modules[name] = _Unloaded(name)
            sys.modules[name].__spec__ = spec
