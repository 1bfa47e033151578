# SPDX-License-Identifier: Apache-2.0
"""The REST API's schema for tests: made from the code once in a process, and as it is committed."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from drf_spectacular.generators import SchemaGenerator

COMMITTED = Path(__file__).resolve().parents[1] / "frontend" / "openapi.yaml"


@cache
def schema() -> dict[str, Any]:
    """Of the code; who changes it copies it first."""
    found: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return found


def committed() -> dict[str, Any]:
    """Of frontend/openapi.yaml, which `make schema-check` compares with the code. libyaml takes a fifth of the time."""
    found: dict[str, Any] = yaml.load(COMMITTED.read_text(), Loader=yaml.CSafeLoader)
    return found
