"""The strategies that a job may name, as the API tells them: read off the runtime's own catalogue."""

from __future__ import annotations

from typing import Any

from mlhub.runtime.strategies.catalogue.schema import PRESETS, SCHEMES, Parameter


def strategies() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "about": scheme.about,
            "mode": None if scheme.mode is None else str(scheme.mode),
            "is_resizable": scheme.is_resizable,
            "other_names": [other for other, preset in PRESETS.items() if preset.scheme == name],
            "parameters": [_parameter(key, parameter) for key, parameter in scheme.parameters.items()],
        }
        for name, scheme in SCHEMES.items()
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
