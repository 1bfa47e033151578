# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI schema declares all that a client needs: properties, media types, errors, streams."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.core.problems import STATUS
from tests.openapi import operations, schema


def test_every_property_of_every_component_has_a_description():
    bare = [
        f"{name}.{key}"
        for name, component in schema()["components"]["schemas"].items()
        for key, found in component.get("properties", {}).items()
        if not found.get("description", "").strip()
    ]
    assert bare == []


def test_every_operation_and_every_parameter_has_a_description():
    bare = [name for name, operation in operations().items() if not operation.get("description", "").strip()]
    for name, operation in operations().items():
        for parameter in operation.get("parameters", []):
            if not parameter.get("description", "").strip():
                bare.append((*name, parameter["name"]))
    assert bare == []


def test_no_description_is_that_of_a_base_class():
    """A docstring of a base class says what the base is for, and would be repeated wherever it is derived from."""
    said: dict[str, set[str]] = {}
    for name, component in schema()["components"]["schemas"].items():
        if "enum" not in component and component.get("description"):
            # a schema and its request are one serializer
            own = name.removeprefix("Patched").removesuffix("Request")
            said.setdefault(component["description"], set()).add(own)
    assert {text: names for text, names in said.items() if len(names) > 1} == {}
    bases = ("The base of", "Only rows that the caller may see", "A view whose")
    assert [name for name, found in operations().items() if found["description"].startswith(bases)] == []


def test_each_body_has_exactly_one_media_type():
    known = {"application/json", "multipart/form-data", "application/octet-stream"}
    declared = {name: [*found.get("requestBody", {}).get("content", {})] for name, found in operations().items()}
    assert len(declared) > 200
    assert {name: types for name, types in declared.items() if len(types) > 1 or not known.issuperset(types)} == {}


def test_each_operation_declares_its_errors_as_problems():
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    shared = {f"#/components/responses/{k}": v["content"] for k, v in schema()["components"]["responses"].items()}
    missing, others = {}, []
    for name, operation in operations().items():
        responses = operation["responses"]
        expected = {"400", "401", "403", "404", "422", "429", "500", "503"}
        if "requestBody" in operation:
            expected |= {"413", "415"}
        if expected - responses.keys():
            missing[name] = expected - responses.keys()
        references = [r["$ref"] for status, r in responses.items() if int(status) >= 400 and "$ref" in r]
        others += [(name, reference) for reference in references if shared[reference] != problem]
    assert (missing, others) == ({}, [])


def test_every_status_of_a_domain_error_is_in_the_schema():
    declared = {status for operation in operations().values() for status in operation["responses"]}
    assert {str(status) for status in STATUS.values()} <= declared


@pytest.mark.parametrize(
    ("path", "events"),
    [
        ("/api/v1/stream", {"event", "changed", "heartbeat", "end"}),
        ("/api/v1/jobs/{id}/stream", {"job", "event", "metrics", "log", "heartbeat", "end"}),
    ],
)
def test_the_streams_are_described_with_their_events_and_how_to_go_on(path, events):
    operation = operations()[path, "get"]
    assert list(operation["responses"]["200"]["content"]) == ["text/event-stream"]
    assert {p["name"] for p in operation["parameters"]} >= {"Last-Event-ID", "last_event_id"}
    assert operation["x-events"].keys() == events
    assert all(f"`{event}`" in operation["description"] for event in events)
    for reference in references(operation["x-events"]):
        assert reference.rpartition("/")[2] in schema()["components"]["schemas"]


def references(found: Any) -> list[str]:
    if isinstance(found, dict):
        own = [found["$ref"]] if "$ref" in found else []
        return own + [r for value in found.values() for r in references(value)]
    return [r for value in found for r in references(value)] if isinstance(found, list) else []
