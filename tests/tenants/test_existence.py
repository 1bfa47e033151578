# SPDX-License-Identifier: Apache-2.0
"""No answer says whether another tenant's object exists: in addresses, queries and bodies a real id or name of theirs
is answered as one that no one has, at every operation of the API."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from rest_framework.test import APIClient

from mlhub.tenants.actions import bind_role
from mlhub.tenants.actions.administration.service_accounts import create_service_account, create_service_token
from mlhub.tenants.models import Membership, Project, User
from mlhub.tenants.roles import Role
from tests.cast import Cast
from tests.jobs.builders import builtin, job
from tests.openapi import operations, schema
from tests.tenants.everything import address, everything_of_a
from tests.tracking.test_access import token_client

pytestmark = pytest.mark.slow
WORD = "hush"
# fields of queries and bodies that name an object, and what they name
NAMED = {
    **dict.fromkeys(("job", "jobs", "model_of", "before", "after", "to", "parent_job", "subject"), "jobs"),
    **dict.fromkeys(("ref", "name", "search", "id", "features", "checkpoints", "cancel"), "jobs"),
    **dict.fromkeys(("username", "actor", "owner", "reassign_to", "account"), "users"),
    **dict.fromkeys(("team", "parent", "within"), "teams"),
    **dict.fromkeys(("dataset_version", "datasets"), "dataset-versions"),
    "dataset": "datasets", "model": "models", "model_version": "model-versions", "version": "model-versions",
    "organisation": "organisations", "project": "projects", "secrets": "secrets", "runs": "runs", "upload": "uploads",
}  # fmt: skip
CALLED = {"datasets": "data", "models": "model", "jobs": "job", "organisations": "organisation", "projects": "project",
          "teams": "team", "studies": "study", "runs": "run"}  # fmt: skip
UUIDS = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
TIMES = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
CHANCE = re.compile(r'"(waited_s|jct_s|compute_ms|decide_ms|prefix|token|secret)": ?("[^"]*"|[\d.e-]+)')
OF_EACH_REQUEST = ("x-request-id", "date", "ratelimit", "ratelimit-policy", "server-timing", "set-cookie")


def resolved(part: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in part:
        part = schema()["components"]["schemas"][part["$ref"].split("/")[-1]]
    return part


def type_of(part: dict[str, Any]) -> str:
    found = part.get("type", "object" if "properties" in part else "string")
    return str(next(one for one in found if one != "null") if isinstance(found, list) else found)


def example(part: dict[str, Any], *, is_full: bool = False) -> Any:
    """What the API takes there, as far as its schema says. is_full: with what may be left out, too."""
    part = resolved(part)
    for choice in ("allOf", "oneOf", "anyOf"):
        if choice in part:
            return example(next(one for one in part[choice] if resolved(one).get("type") != "null"))
    if "enum" in part:
        return part["enum"][0]
    kind = type_of(part)
    if kind == "object":
        wanted = part.get("properties", {}) if is_full else part.get("required", [])
        return {name: example(part["properties"][name]) for name in wanted}
    if kind == "array":
        return [example(part["items"])]
    texts = {"uuid": str(uuid4()), "date-time": "2040-01-01T00:00:00Z", "uri": "https://example.org/hook"}
    shortest = "x" * min(20, max(1, part.get("minLength", 1)))
    numbers = {"integer": max(1, part.get("minimum", 1)), "number": 1.0, "boolean": True}
    return numbers.get(kind, texts.get(part.get("format", ""), shortest))


def body_of(operation: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Its format and schema."""
    content = operation.get("requestBody", {}).get("content", {})
    for form, kind in (("json", "application/json"), ("multipart", "multipart/form-data")):
        if kind in content:
            return form, resolved(content[kind]["schema"])
    return "", {}


def answer(client: APIClient, method: str, at: str, form: str, body: Any, *, given: list[Any]) -> tuple[int, str]:
    """Status, headers and content, without what differs from request to request, and what was given; undone."""
    with transaction.atomic():
        sent = {"data": body, "format": form} if form and method != "get" else {}
        found = getattr(client, method)(at, **sent)
        text = (b"".join(found.streaming_content) if found.streaming else found.content).decode(errors="replace")
        transaction.set_rollback(True)
    headers = {name: value for name, value in found.headers.items() if name.lower() not in OF_EACH_REQUEST}
    headers.pop("Content-Length", None)
    text = CHANCE.sub("", TIMES.sub("AT", UUIDS.sub("ID", f"{text}{headers}")))
    for one in sorted(map(str, given), key=len, reverse=True):
        text = text.replace(one, "ID") if len(one) > 2 else text
    assert WORD not in text, (method, at, text[:400])
    return found.status_code, text


@pytest.fixture
def ids(cast: Cast) -> dict[str, Any]:
    return everything_of_a(cast, WORD)


@pytest.fixture
def own(cast: Cast) -> dict[str, Any]:
    """The same things of B."""
    carl, dora = User.objects.create(username="carl"), User.objects.create(username="dora")
    Membership.objects.create(user=carl, organisation=cast.b, role=Role.MEMBER)
    Membership.objects.create(user=dora, organisation=cast.b, role=Role.VIEWER)
    of_b = replace(cast, a=cast.b, project_a=cast.project_b, alice=cast.charlie, bob=carl, victor=dora)
    return everything_of_a(of_b, "mine")


def test_an_address_of_anothers_object_is_answered_as_one_of_nothing(cast: Cast, ids: dict[str, Any]) -> None:
    nothing = {kind: uuid4() if isinstance(one, UUID) else f"no{str(one)[2:]}" for kind, one in ids.items()}
    client, telling = cast.client(cast.charlie), []
    for (path, method), operation in operations().items():
        if path.endswith("/stream") or "{" not in path:
            continue
        form, of_body = body_of(operation)
        for is_full in (True, False):
            body = example(of_body, is_full=is_full)
            real, made_up = (
                answer(client, method, address(path, at), form, body, given=list(at.values())) for at in (ids, nothing)
            )
            if real != made_up:
                telling.append((method, path, real[0], made_up[0]))
    assert telling == []


def pairs_of(kind: str, ids: dict[str, Any], *, is_searched: bool) -> list[tuple[str, str]]:
    """What names an object of A of that kind, each with the same of nothing. is_searched: its last letters do, too."""
    found = [(str(ids[kind]), str(uuid4()))] if isinstance(ids[kind], UUID) else [("HUSH", "NONE")]
    if kind in CALLED:
        found.append((f"{WORD} {CALLED[kind]}", f"none {CALLED[kind]}"))
    if is_searched:
        found.append((str(ids[kind])[-6:], "fedcba"))
    return [*found, *([("bob", "nob")] if kind == "users" else [])]


def plausible(path: str, of_body: dict[str, Any], cast: Cast, own: dict[str, Any]) -> dict[str, Any]:
    """A body that names things of B."""
    fields, body = of_body.get("properties", {}), example(of_body)
    known: dict[str, Any] = {"project": str(cast.project_b.pk), "organisation": str(cast.b.pk), "username": "carl",
                             "role": "member"}  # fmt: skip
    if "dataset_version" in fields:
        known |= {"dataset_version": str(own["dataset-versions"]), "model_version": str(builtin().pk)}
        body |= {"epochs": 1, "batch_size": 4}
    if path.endswith("/studies"):
        body |= {"job": str(own["jobs"]), "space": {"lr": {"type": "float", "low": 0.1, "high": 1.0}}}
    return body | {name: value for name, value in known.items() if name in fields}


def with_field(body: dict[str, Any], field: str, value: str, of_field: dict[str, Any]) -> dict[str, Any]:
    body = {name: one for name, one in body.items() if name not in {"dataset": "dataset_version"}.get(field, field)}
    if field == "model":
        body.pop("model_version", None)
    if field == "datasets":
        return body | {field: [{"name": "d", "dataset_version": value}]}
    return body | {field: [value] if type_of(resolved(of_field)) == "array" else value}


def test_a_query_or_a_body_that_names_anothers_object_is_answered_as_one_that_names_nothing(
    cast: Cast, ids: dict[str, Any], own: dict[str, Any]
) -> None:
    client, telling = cast.client(cast.charlie), []
    for (path, method), operation in operations().items():
        if path.endswith("/stream"):
            continue
        form, of_body = body_of(operation)
        at, body = address(path, own), plausible(path, of_body, cast, own) if form else None
        asked = {one["name"] for one in operation.get("parameters", []) if one["in"] == "query"}
        fields = of_body.get("properties", {})
        for field in NAMED:
            cases = []
            if field in asked:
                is_searched = field in ("name", "ref", "search", "id")
                listed = path.rpartition("/")[2]
                kind = listed if is_searched and listed in ids else NAMED[field]
                searched = pairs_of(kind, ids, is_searched=is_searched)
                cases += [[(f"{at}?{field}={value}", body, value) for value in pair] for pair in searched]
            if field in fields:
                for pair in pairs_of(NAMED[field], ids, is_searched=False):
                    cases.append([(at, with_field(body or {}, field, value, fields[field]), value) for value in pair])
            for case in cases:
                real, made_up = (answer(client, method, to, form, sent, given=[value]) for to, sent, value in case)
                if real != made_up:
                    telling.append((method, path, field, case[0][2], real[0], made_up[0]))
    assert telling == []


def test_a_token_of_one_project_reaches_no_other_and_a_revoked_one_nothing(cast: Cast, ids: dict[str, Any]) -> None:
    shared = Project.objects.create(organisation=cast.a, name="shared")
    job(shared, cast.bob, name="shown")
    robot = create_service_account(cast.a, name="robot", role=Role.OUTSIDER, actor=cast.alice)
    bind_role(shared, username=robot.username, role=Role.MEMBER, actor=cast.alice)
    narrow = APIClient()
    _, secret = create_service_token(
        robot, name="ci", scopes=["read", "write"], expires_in_days=1, project=shared, actor=cast.alice
    )
    narrow.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    assert [row["name"] for row in narrow.get("/api/v1/jobs").json()["results"]] == ["shown"]
    revoked = token_client(cast.alice)
    assert revoked.get("/api/v1/jobs").status_code == 200
    cast.alice.api_tokens.all().delete()
    let_in = []
    for (path, method), operation in operations().items():
        if path.endswith("/stream") or "/ingest/" in path:
            continue
        form, of_body = body_of(operation)
        body = example(of_body)
        answer(
            narrow,
            method,
            address(path, ids),
            form,
            body,
            given=[*ids.values(), f"{WORD} organisation", f"{WORD}-organisation"],
        )
        status, _ = answer(revoked, method, address(path, ids), form, body, given=list(ids.values()))
        if status not in (401, 403):
            let_in.append((method, path, status))
    assert let_in == []
