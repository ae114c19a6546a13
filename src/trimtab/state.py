"""Learned state as text: versioned JSON whose arrays are exact, with a checksum. No pickle."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
from typing import Any

import numpy as np

from trimtab._format import Format
from trimtab.errors import CorruptState, InvalidArgument

_FORMAT = Format("trimtab.state", 1, "a state that Trimtab wrote")

_ARRAY = "__array__"
"""The field that marks an array; a state may not use it for anything else."""

_PLAIN_KINDS = "biuf"
"""Booleans, integers and floats: the kinds whose bytes mean the same on every machine."""


def dump(state: dict[str, Any]) -> str:
    """Return `state` as text that `parse` reads back exactly.

    Parameters
    ----------
    state
        JSON values and numpy arrays of booleans, integers or floats, nested at will. It is what
        `Router.state()` and the controllers' `state()` return. Floats may be infinite or NaN only
        inside of arrays.

    Examples
    --------
    >>> text = dump({"name": "pkg", "arrays": {"loads": np.arange(3)}})
    >>> parse(text)["arrays"]["loads"]
    array([0, 1, 2])

    Notes
    -----
    Arrays are written as dtype (with byte order), shape and base64 of their bytes, so that every
    bit survives. The checksum covers the whole body: a torn or edited file is found out.
    """
    if not isinstance(state, dict):
        raise InvalidArgument(f"a state is a dict; got {type(state).__name__}")
    body = json.dumps(_written(state, "state"), sort_keys=True)
    return json.dumps({**_FORMAT.head(), "checksum": _checksum(body), "body": body})


def parse(text: str | bytes, source: str = "state") -> dict[str, Any]:
    """Read what `dump` wrote; `source` names the file in errors.

    Raises
    ------
    CorruptState
        If the text is damaged, is something else, or was written by a newer Trimtab.
    """
    try:
        data = json.loads(text)
    except (ValueError, UnicodeDecodeError) as error:
        raise CorruptState(f"{source} is damaged: it is no JSON ({error})") from error
    _FORMAT.check(data, source)
    body = data.get("body")
    if not isinstance(body, str) or data.get("checksum") != _checksum(body):
        raise CorruptState(f"{source} is damaged: its checksum does not fit its content")
    try:
        state = _read(json.loads(body))
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptState(f"{source} is damaged: {error}") from error
    if not isinstance(state, dict):
        raise CorruptState(f"{source} is damaged: its body is no state")
    return state


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def _written(value: Any, where: str) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in _PLAIN_KINDS:
            raise InvalidArgument(
                f"{where} is an array of {value.dtype}; a state holds booleans, integers and floats"
            )
        little = value.astype(value.dtype.newbyteorder("<"), copy=False)
        data = base64.b64encode(np.ascontiguousarray(little).tobytes()).decode()
        return {_ARRAY: {"dtype": little.dtype.str, "shape": list(value.shape), "base64": data}}
    if isinstance(value, dict):
        for name in value:
            if not isinstance(name, str) or name == _ARRAY:
                raise InvalidArgument(f"{where} has a field {name!r}; fields must be other strings")
        return {name: _written(part, f"{where}.{name}") for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_written(part, f"{where}[{i}]") for i, part in enumerate(value)]
    if isinstance(value, np.bool_ | np.integer | np.floating):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidArgument(f"{where} is {value}; put numbers that are not finite in an array")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise InvalidArgument(f"{where} is of type {type(value).__name__}, which no state can hold")


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return [_read(part) for part in value]
    if not isinstance(value, dict):
        return value
    if _ARRAY not in value:
        return {name: _read(part) for name, part in value.items()}
    written = value[_ARRAY]
    dtype = np.dtype(written["dtype"])
    if dtype.kind not in _PLAIN_KINDS:
        raise ValueError(f"an array of {dtype} has no place in a state")
    try:
        data = base64.b64decode(written["base64"], validate=True)
    except binascii.Error as error:
        raise ValueError(f"an array is not base64: {error}") from error
    native = np.frombuffer(data, dtype=dtype).astype(dtype.newbyteorder("="))
    return native.reshape(written["shape"])
