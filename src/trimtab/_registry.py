"""Names to classes, loaded when first asked for, so that importing Trimtab stays quick."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from trimtab.errors import InvalidArgument, UnknownName


def load(kind: str, registry: Mapping[str, str], name: str) -> type[Any]:
    """Return the class registered under `name`; `registry` maps names to "module:Class"."""
    if name not in registry:
        raise UnknownName(kind, name, registry)
    module, _, attribute = registry[name].partition(":")
    found: type[Any] = getattr(import_module(module), attribute)
    return found


def build(kind: str, cls: type[Any], name: str, parameters: Mapping[str, Any]) -> Any:
    """Call the class, turning an unknown parameter into a sentence that lists the known ones."""
    import inspect

    known = [p for p in inspect.signature(cls.__init__).parameters if p != "self"]
    unknown = [p for p in parameters if p not in known]
    if unknown:
        raise InvalidArgument(
            f"{kind} {name!r} has no parameter {unknown[0]!r}; it takes {', '.join(known)}"
        )
    return cls(**parameters)
