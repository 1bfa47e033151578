# SPDX-License-Identifier: Apache-2.0
"""The REST API's schema for tests: made from the code once in a process, and as it is committed.

Tests ask for it as they run: made while tests are collected, each process of the suite would make one.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from drf_spectacular.generators import SchemaGenerator

from mlhub.core.api.operations import METHODS

COMMITTED = Path(__file__).resolve().parents[1] / "frontend" / "openapi.yaml"


@cache
def schema() -> dict[str, Any]:
    """Of the code; who changes it copies it first."""
    found: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return found


@cache
def operations() -> dict[tuple[str, str], dict[str, Any]]:
    """Each operation of the code by its path and method."""
    paths = schema()["paths"]
    return {(path, method): item[method] for path, item in paths.items() for method in METHODS if method in item}


def committed() -> dict[str, Any]:
    """Of frontend/openapi.yaml, which `make schema-check` compares with the code. libyaml takes a fifth of the time."""
    found: dict[str, Any] = yaml.load(COMMITTED.read_text(), Loader=yaml.CSafeLoader)
    return found
