# SPDX-License-Identifier: Apache-2.0
"""What the OpenAPI schema declares of each route: the single source of the names that a request may use."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator

API_PREFIX = "/api/"
CONVERTER = re.compile(r"<(?:\w+:)?(\w+)>")
METHODS = ("get", "put", "post", "delete", "patch")
UNDESCRIBED = {"/api/v1/schema": frozenset({"format", "lang", "version"}), "/api/v1/docs": frozenset({"script"})}


_making_one = threading.Lock()


@dataclass(frozen=True)
class ApiOperation:
    """query_names: the declared query parameters. has_body: whether a request body is declared."""

    query_names: frozenset[str]
    has_body: bool


def operation_of(view: Any, route: str, method: str) -> ApiOperation | None:
    """The operation of a resolved Django route; HEAD and OPTIONS count as GET. None where the route has no such method.

    Made on the first request that needs it: the whole schema would take a process a second. view, route: as in
    ResolverMatch.func and .route, such as "api/v1/jobs/<uuid:id>".
    """
    path = "/" + CONVERTER.sub(r"{\1}", route)
    if path in UNDESCRIBED:
        return ApiOperation(UNDESCRIBED[path], has_body=False)
    with _making_one:  # the generator's first use in two threads at once fails in one of them
        return _operation(view, path, f"/{route}", "get" if method in ("HEAD", "OPTIONS") else method.lower())


@cache
def _operation(view: Any, path: str, route: str, method: str) -> ApiOperation | None:
    described = getattr(view, "cls", None)
    if method not in METHODS or getattr(described, "schema", None) is None or not hasattr(described, method):
        return None
    generator = SchemaGenerator()
    only: list[Any] = [(path, route, method.upper(), view)]
    generator.endpoints = only  # in place of every route's
    found = generator.parse(None, public=True).get(path, {}).get(method)
    if found is None:
        return None
    names = frozenset(p["name"] for p in found.get("parameters", ()) if p["in"] == "query")
    return ApiOperation(names, has_body="requestBody" in found)
