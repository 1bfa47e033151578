# SPDX-License-Identifier: Apache-2.0
"""Which method of a server answers which request: it follows from the messages' declarations and the methods' types."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from inspect import isfunction
from typing import Any, get_args, get_type_hints

from mlhub.runtime.ps.wire.declaration import LAYOUTS, Message, requests_for

Handler = Callable[[Any, Any], Message | None]  # of the server and the request; None: it sent the reply itself


def handlers_of(
    server: type, purposes: Iterable[str], *, besides: Collection[type[Message]] = ()
) -> dict[type[Message], Handler]:
    """Returns by request the method whose parameter `request` is of this type.

    purposes: of the connections that the server answers. besides: requests that it answers in another way.
    Raises TypeError when a request declared for these purposes has no method, a method has no such request, or
    returns something else than the declared replies.
    """
    accepted = {kind for purpose in purposes for kind in requests_for(purpose)} - set(besides)
    found: dict[type[Message], Handler] = {}
    for method in vars(server).values():
        if not isfunction(method) or "request" not in method.__annotations__:
            continue
        hints = get_type_hints(method)
        kind, returned = hints["request"], hints["return"]
        if kind not in accepted or kind in found:
            raise TypeError(f"{method.__qualname__} answers {kind.__name__}, which is not open.")
        if not {*(get_args(returned) or (returned,))} <= {*LAYOUTS[kind].replies, type(None)}:
            raise TypeError(f"{method.__qualname__} returns {returned}, which is no reply to {kind.__name__}.")
        found[kind] = method
    if accepted != found.keys():
        names = ", ".join(sorted(kind.__name__ for kind in accepted - found.keys()))
        raise TypeError(f"{server.__name__} has no method for {names}.")
    return found
