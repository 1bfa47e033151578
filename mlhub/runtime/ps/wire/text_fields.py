# SPDX-License-Identifier: Apache-2.0
"""Fields of messages that travel as JSON: each is checked against its annotation when it is read."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Union, get_args, get_origin

ValueReader = Callable[[Any], Any]  # raises ValueError or TypeError for another kind of value
_SCALARS = (str, bool, type(None))


def reader_for(annotation: Any) -> ValueReader:
    """Returns what turns a value of JSON into one of the annotated type, or refuses it.

    Known are str, int, float, bool, None, enumerations of text, unions, tuples, and dict for any JSON object.
    Raises TypeError for another annotation.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return _union([reader_for(argument) for argument in arguments])
    if origin is tuple:
        return _sequence(reader_for(arguments[0])) if arguments[-1] is ... else _tuple(map(reader_for, arguments))
    if origin in (dict, Mapping) or annotation is dict:
        return _instance_of(dict)
    if annotation is int:
        return _whole_number
    if annotation is float:
        return lambda value: float(_instance_of(int, float)(value))
    if annotation in _SCALARS:
        return _instance_of(annotation)
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return annotation
    raise TypeError(f"A field of type {annotation} cannot be sent as JSON.")


def _instance_of(*kinds: type) -> ValueReader:
    def read(value: Any) -> Any:
        if not isinstance(value, kinds):
            raise TypeError(f"{value!r:.80} is not of type {' or '.join(kind.__name__ for kind in kinds)}")
        return value

    return read


def _whole_number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r:.80} is not a whole number")
    return value


def _union(readers: list[ValueReader]) -> ValueReader:
    def read(value: Any) -> Any:
        refusals = []
        for reader in readers:
            try:
                return reader(value)
            except (TypeError, ValueError) as error:
                refusals.append(str(error))
        raise TypeError(", and ".join(refusals))

    return read


def _sequence(reader: ValueReader) -> ValueReader:
    is_list = _instance_of(list)
    return lambda value: tuple(reader(item) for item in is_list(value))


def _tuple(readers: Any) -> ValueReader:
    in_order, is_list = list(readers), _instance_of(list)
    return lambda value: tuple(reader(item) for reader, item in zip(in_order, is_list(value), strict=True))
