# SPDX-License-Identifier: Apache-2.0
"""Every address that takes a name, asked with a name of another organisation and with one that does not exist."""

from __future__ import annotations

import re

import pytest

from mlhub.core.api.names import COLLECTIONS, PATTERN
from mlhub.core.api.views import AddressedView
from mlhub.experiments.models import Study
from mlhub.registry.models import Model
from mlhub.tenants.models import Team
from tests.core.test_strictness import api_routes, send
from tests.jobs.builders import builtin, job, ready_dataset
from tests.openapi import operations

SECRET = "aurora"  # the name of everything that charlie may not see
OTHERS = {
    "checkpoint": "1", "profile": "01900000-0000-7000-8000-000000000000", "rank": "0", "name": "x", "version": "1",
}  # fmt: skip
DELETE_BY_POST = {
    "/api/v1/organisations/{id}/deletion", "/api/v1/projects/{id}/deletion", "/api/v1/jobs/{id}/checkpoints/delete",
}  # fmt: skip


def named_operations() -> list[tuple[str, str]]:
    """The paths and methods below a collection whose rows have names, but for streams."""
    words = "|".join(COLLECTIONS)
    return [key for key in operations() if re.match(rf"/api/v1/({words})/{{id}}", key[0]) and "/stream" not in key[0]]


def address(path: str, name: str) -> str:
    return re.sub(r"{(\w+)}", lambda found: OTHERS[found[1]], path.replace("{id}", f"name:{name}"))


@pytest.fixture
def secrets(cast):
    """One of each collection of organisation A, all of one name."""
    type(cast.a).objects.filter(pk=cast.a.pk).update(name=SECRET)
    type(cast.project_a).objects.filter(pk=cast.project_a.pk).update(name=SECRET)
    Team.objects.create(organisation=cast.a, name=SECRET)
    dataset = ready_dataset(cast.project_a, cast.bob, name=SECRET)
    Model.objects.create(project=cast.project_a, name=SECRET, created_by=cast.bob)
    job(cast.project_a, cast.bob, name=SECRET)
    Study.objects.create(
        project=cast.project_a, name=SECRET, created_by=cast.bob, dataset_version=dataset, model_version=builtin(),
        space={}, rungs=[1], max_parallel=1, max_trials=1, metric="loss",
        algorithm="random", direction="minimize",
    )  # fmt: skip
    assert all(one.model._default_manager.filter(name=SECRET).exists() for one in COLLECTIONS.values())
    return cast


def test_a_name_of_another_tenant_is_answered_as_one_that_does_not_exist(secrets):
    charlie, different = secrets.client(secrets.charlie), {}
    for path, method in named_operations():
        theirs, absent = (getattr(charlie, method)(address(path, name)) for name in (SECRET, "absent"))
        shown = [
            (one.status_code, {**one.json(), "request_id": ""}, sorted(set(one.headers) - {"X-Request-ID"}))
            for one in (theirs, absent)
        ]
        body = {name: str(text).replace(SECRET, "absent") for name, text in shown[0][1].items()}
        same = shown[0][0] == shown[1][0] == 404 and shown[0][2] == shown[1][2]
        if not same or body != {name: str(text) for name, text in shown[1][1].items()}:
            different[path, method] = shown
    assert different == {}


def test_every_address_below_a_collection_takes_its_name(secrets):
    """Whatever else is wrong with the request: the row is found, or a deletion asks for its id."""
    root, refused, n_asked = secrets.client(secrets.root), {}, 0
    for path, method in named_operations():
        body = {"nonsense": "x"} if "requestBody" in operations()[path, method] else {}  # nothing is made, nor renamed
        answer = send(root, path, method, address(path, SECRET), body)
        n_asked += 1
        is_deletion = method == "delete" or (path in DELETE_BY_POST and method == "post")
        text = answer.content.decode() if not answer.streaming else ""
        if is_deletion != (answer.status_code == 422 and "takes the" in text) or f"called {SECRET}" in text:
            refused[path, method] = text
    assert refused == {}
    assert n_asked > 90


def test_the_schema_says_which_take_names():
    said = {
        key
        for key, operation in operations().items()
        for parameter in operation.get("parameters", ())
        if parameter["schema"].get("pattern") == PATTERN and "409" in operation["responses"]
    }
    delete = {key for key in operations() if key[1] == "delete"} | {(path, "post") for path in DELETE_BY_POST}
    streams = {key for key in operations() if re.match(r"/api/v1/jobs/{id}/stream", key[0])}
    assert said == (set(named_operations()) | streams) - delete
    names = {key: [(p["name"], p["in"]) for p in one.get("parameters", ())] for key, one in operations().items()}
    assert [key for key, found in names.items() if len(set(found)) < len(found)] == []


def test_no_view_of_such_a_route_sees_a_name():
    routes = [(route, view.cls) for route, view in api_routes() if "<named:" in route]
    assert len(routes) > 85
    assert [route for route, view in routes if not issubclass(view, AddressedView)] == []
    words = "|".join(COLLECTIONS)
    assert [route for route, _ in api_routes() if re.match(rf"api/v1/({words})/<uuid:", route)] == []
