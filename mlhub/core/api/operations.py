# SPDX-License-Identifier: Apache-2.0
"""What the OpenAPI schema declares of each route: the single source of the names that a request may use."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from functools import cache

from drf_spectacular.generators import SchemaGenerator

API_PREFIX = "/api/"
CONVERTER = re.compile(r"<(?:\w+:)?(\w+)>")
METHODS = ("get", "put", "post", "delete", "patch")
UNDESCRIBED = {"/api/v1/schema": frozenset({"format", "lang", "version"}), "/api/v1/docs": frozenset({"script"})}


_making_them = threading.Lock()


@dataclass(frozen=True)
class ApiOperation:
    """query_names: the declared query parameters. has_body: whether a request body is declared."""

    query_names: frozenset[str]
    has_body: bool


def operation_of(route: str, method: str) -> ApiOperation | None:
    """The operation of a resolved Django route; HEAD and OPTIONS count as GET. None where the route has no such method.

    route: as in ResolverMatch.route, such as "api/v1/jobs/<uuid:id>".
    """
    path = "/" + CONVERTER.sub(r"{\1}", route)
    with _making_them:  # the generator's first use in two threads at once fails in one of them
        operations = _operations()
    if path in UNDESCRIBED:
        return ApiOperation(UNDESCRIBED[path], has_body=False)
    return operations.get((path, "get" if method in ("HEAD", "OPTIONS") else method.lower()))


@cache
def _operations() -> dict[tuple[str, str], ApiOperation]:
    """Made once a process, on the first request that needs it (about 0.4 s)."""
    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    return {
        (path, method): ApiOperation(
            frozenset(p["name"] for p in item[method].get("parameters", ()) if p["in"] == "query"),
            has_body="requestBody" in item[method],
        )
        for path, item in paths.items()
        for method in METHODS
        if method in item
    }
