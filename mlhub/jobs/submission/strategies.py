# SPDX-License-Identifier: Apache-2.0
"""The strategies that a job may name, as the API lists them, from the runtime's own catalogue."""

from __future__ import annotations

from typing import Any

from mlhub.runtime.strategies.catalogue.schema import PRESETS, STRATEGIES, Parameter


def strategies() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "about": declaration.about,
            "mode": None if declaration.mode is None else str(declaration.mode),
            "is_resizable": declaration.is_resizable,
            "other_names": [other for other, preset in PRESETS.items() if preset.strategy == name],
            "parameters": [_parameter(key, parameter) for key, parameter in declaration.parameters.items()],
        }
        for name, declaration in STRATEGIES.items()
    ]


def _parameter(name: str, parameter: Parameter) -> dict[str, Any]:
    return {
        "name": name,
        "kind": parameter.kind.__name__,
        "default": parameter.default,
        "minimum": parameter.minimum,
        "maximum": parameter.maximum,
        "choices": list(parameter.choices),
    }
