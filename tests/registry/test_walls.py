# SPDX-License-Identifier: Apache-2.0
"""Charlie, of another organisation, and victor, who may only read, at every address of this room."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from mlhub.registry.api.urls import urlpatterns
from mlhub.registry.models import Model, ModelVersion
from mlhub.storage.models import Blob, Holding
from tests.datasets.files import form
from tests.registry.packages import CODE, a_dataset, code_of, trained, upload

UPLOAD = object()
FILE = "model-versions/<uuid:id>/files/<path:path>"  # of versions that clients of MLflow logged
CALLS = {
    "models": [("post", UPLOAD)],
    "models/<named:id>": [("get", None), ("delete", None)],
    "models/<named:id>/versions": [("get", None), ("post", UPLOAD)],
    "models/<named:id>/aliases": [("get", None)],
    "models/<named:id>/aliases/<str:name>": [("put", {"version": 2}), ("delete", None)],
    "models/<named:id>/versions/<str:version>/export": [("get", None)],
    "models/<named:id>/predict": [("post", {"rows": [{}]})],
    "models/<named:id>/versions/<str:version>/predict": [("post", {"rows": [{}]})],
    "dataset-versions/<uuid:id>/trained": [("get", None)],
    "model-versions/<uuid:id>": [("get", None), ("patch", {"notes": "mine"}), ("delete", None)],
    "model-versions/<uuid:id>/download": [("get", {"what": "weights"}), ("get", {"what": "metadata"})],
    "model-versions/<uuid:id>/files": [("get", None)],
    FILE: [("get", None)],
}
ALL_CALLS = [(route, verb, body) for route, calls in CALLS.items() for verb, body in calls]


@pytest.fixture
def version(cast) -> ModelVersion:
    assert upload(cast.client(cast.alice), cast.project_a).status_code == 201
    return trained(code_of(Model.objects.get()), a_dataset(cast.project_a, cast.bob), cast.bob)


def call(client, cast, version, route, verb, body):
    rows = {"models": version.model, "model-versions": version, "dataset-versions": version.dataset_version}
    row = rows[route.split("/")[0]]
    address = "/api/v1/" + route.replace("<uuid:id>", str(row.id)).replace("<named:id>", str(row.id)).replace(
        "<str:version>", str(version.number)
    )
    address = address.replace("<str:name>", "best").replace("<path:path>", "MLmodel")
    if body is UPLOAD:
        new = {} if route.endswith("/versions") else {"name": "x", "project": cast.project_a.id}
        return client.post(address, form("x.py", CODE, **new), format="multipart")
    return getattr(client, verb)(address, body)


def everything(settings):
    rows = [list(m.objects.order_by("pk").values()) for m in (Model, ModelVersion, Blob, Holding)]
    return rows, sorted(p.name for p in settings.BLOB_ROOT.rglob("*") if p.is_file())


def test_every_address_is_called_here():
    assert {str(p.pattern) for p in urlpatterns} == CALLS.keys()


@pytest.mark.parametrize(("route", "verb", "body"), ALL_CALLS)
def test_what_is_anothers_is_not_there_and_stays_as_it_is(cast, version, settings, route, verb, body):
    before = everything(settings)
    assert call(cast.client(cast.charlie), cast, version, route, verb, body).status_code == 404
    assert call(APIClient(), cast, version, route, verb, body).status_code == 401
    assert everything(settings) == before


def test_the_list_leaves_out_what_is_anothers(cast, version):
    assert cast.client(cast.charlie).get("/api/v1/models").json()["results"] == []
    assert len(cast.client(cast.root).get("/api/v1/models").json()["results"]) == 1


@pytest.mark.parametrize(("route", "verb", "body"), [c for c in ALL_CALLS if c[1] != "get"])
def test_a_viewer_writes_nothing(cast, version, settings, route, verb, body):
    before = everything(settings)
    answer = call(cast.client(cast.victor), cast, version, route, verb, body)
    assert (answer.status_code, answer.json()["code"]) == (403, "role_too_low")
    assert everything(settings) == before


def test_a_viewer_reads(cast, version):
    victor = cast.client(cast.victor)
    assert {call(victor, cast, version, *c).status_code for c in ALL_CALLS if c[1] == "get" and c[0] != FILE} == {200}
