# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI schema declares all that a client needs: properties, media types, errors, streams."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.core.api.operations import METHODS
from mlhub.core.problems import STATUS
from tests.openapi import schema

SCHEMA: dict[str, Any] = schema()
OPERATIONS = {
    f"{method} {path}": item[method] for path, item in SCHEMA["paths"].items() for method in METHODS if method in item
}


def test_every_property_of_every_component_has_a_description():
    bare = [
        f"{name}.{key}"
        for name, component in SCHEMA["components"]["schemas"].items()
        for key, found in component.get("properties", {}).items()
        if not found.get("description", "").strip()
    ]
    assert bare == []


def test_every_operation_and_every_parameter_has_a_description():
    bare = [name for name, operation in OPERATIONS.items() if not operation.get("description", "").strip()]
    for name, operation in OPERATIONS.items():
        for parameter in operation.get("parameters", []):
            if not parameter.get("description", "").strip():
                bare.append(f"{name}: {parameter['name']}")
    assert bare == []


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_body_has_exactly_one_media_type(name):
    declared = list(OPERATIONS[name].get("requestBody", {}).get("content", {}))
    assert len(declared) <= 1
    assert set(declared) <= {"application/json", "multipart/form-data", "application/octet-stream"}


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_operation_declares_its_errors_as_problems(name):
    responses = OPERATIONS[name]["responses"]
    expected = {"400", "401", "403", "404", "422", "429", "500", "503"}
    if "requestBody" in OPERATIONS[name]:
        expected |= {"413", "415"}
    assert expected <= responses.keys()
    for status, response in responses.items():
        if int(status) >= 400 and "$ref" in response:
            shared = SCHEMA["components"]["responses"][response["$ref"].rpartition("/")[2]]
            assert shared["content"] == {
                "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
            }


def test_every_status_of_a_domain_error_is_in_the_schema():
    declared = {status for operation in OPERATIONS.values() for status in operation["responses"]}
    assert {str(status) for status in STATUS.values()} <= declared


@pytest.mark.parametrize(
    ("name", "events"),
    [
        ("get /api/v1/stream", {"event", "changed", "heartbeat", "end"}),
        ("get /api/v1/jobs/{id}/stream", {"job", "event", "metrics", "log", "heartbeat", "end"}),
    ],
)
def test_the_streams_are_described_with_their_events_and_how_to_go_on(name, events):
    operation = OPERATIONS[name]
    assert list(operation["responses"]["200"]["content"]) == ["text/event-stream"]
    assert {p["name"] for p in operation["parameters"]} >= {"Last-Event-ID", "last_event_id"}
    assert operation["x-events"].keys() == events
    assert all(f"`{event}`" in operation["description"] for event in events)
    for reference in references(operation["x-events"]):
        assert reference.rpartition("/")[2] in SCHEMA["components"]["schemas"]


def references(found: Any) -> list[str]:
    if isinstance(found, dict):
        own = [found["$ref"]] if "$ref" in found else []
        return own + [r for value in found.values() for r in references(value)]
    return [r for value in found for r in references(value)] if isinstance(found, list) else []
