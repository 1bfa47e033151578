# SPDX-License-Identifier: Apache-2.0
"""A property of an object that never changes, worked out when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

_Value = TypeVar("_Value")


class unlocked_cached_property(Generic[_Value]):  # noqa: N801 (a decorator, as functools.cached_property)
    """Is functools.cached_property for the snapshot's many small objects, without its lock, which Python 3.12 dropped
    and which takes most of the time of a short property. Two threads may work a value out twice; it is the same.
    """

    def __init__(self, work_out: Callable[[Any], _Value]) -> None:
        self._work_out = work_out
        self._name = ""
        self.__doc__ = work_out.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> _Value:
        """Returns the value, and puts it where it is found from now on without a call."""
        if instance is None:
            return self  # type: ignore[return-value]
        found = instance.__dict__[self._name] = self._work_out(instance)
        return found
