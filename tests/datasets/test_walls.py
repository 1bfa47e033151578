# SPDX-License-Identifier: Apache-2.0
"""Charlie, of another organisation, and victor, who may only read, at every address of this room."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from mlhub.datasets.api.urls import urlpatterns
from mlhub.datasets.models import Dataset, DatasetVersion
from mlhub.storage.models import Blob, Holding
from tests.datasets import files
from tests.datasets.test_uploads import upload

UPLOAD, REFERENCE = object(), object()
CALLS = {
    "datasets": [("post", UPLOAD)],
    "datasets/<named:id>": [("get", None), ("delete", None)],
    "datasets/references": [("post", REFERENCE)],
    "datasets/<named:id>/versions": [("get", None), ("post", UPLOAD)],
    "datasets/<named:id>/references": [("post", REFERENCE)],
    "dataset-versions/<uuid:id>": [("get", None), ("delete", None)],
    "dataset-versions/<uuid:id>/columns": [("post", None)],
    "dataset-versions/<uuid:id>/refresh": [("post", None)],
    "dataset-versions/<uuid:id>/difference": [("get", None)],
    "dataset-versions/<uuid:id>/clips/<int:number>": [("get", None)],
    "dataset-versions/<uuid:id>/download": [("get", None)],
    "dataset-versions/<uuid:id>/shards": [("get", None)],
}
ALL_CALLS = [(route, verb, body) for route, calls in CALLS.items() for verb, body in calls]


@pytest.fixture
def dataset(cast):
    assert upload(cast.client(cast.alice), cast.project_a).status_code == 201
    return Dataset.objects.get()


def call(client, cast, dataset, route, verb, body):
    row = DatasetVersion.objects.get() if route.startswith("dataset-versions") else dataset
    address = "/api/v1/" + route.replace("<uuid:id>", str(row.id)).replace("<named:id>", str(row.id)).replace(
        "<int:number>", "0"
    )
    if body is UPLOAD:
        new = {} if route.endswith("/versions") else {"name": "x", "project": cast.project_a.id}
        form = files.form("x.csv", files.csv(7), **new)
        return client.post(address, form, format="multipart")
    if body is REFERENCE:
        new = {"name": "x", "project": str(cast.project_a.id)} if route == "datasets/references" else {}
        return client.post(address, {"source": {"uri": "https://example.org/x.csv"}, **new}, format="json")
    query = {"to": str(row.id)} if route.endswith("/difference") else None
    return getattr(client, verb)(address, query)


def everything(settings):
    rows = [list(m.objects.order_by("pk").values()) for m in (Dataset, DatasetVersion, Blob, Holding)]
    return rows, sorted(p.name for p in settings.BLOB_ROOT.rglob("*") if p.is_file())


def test_every_address_is_called_here():
    assert {str(p.pattern) for p in urlpatterns} == CALLS.keys()


@pytest.mark.parametrize(("route", "verb", "body"), ALL_CALLS)
def test_what_is_anothers_is_not_there_and_stays_as_it_is(cast, dataset, settings, route, verb, body):
    before = everything(settings)
    assert call(cast.client(cast.charlie), cast, dataset, route, verb, body).status_code == 404
    assert call(APIClient(), cast, dataset, route, verb, body).status_code == 401
    assert everything(settings) == before


def test_the_list_leaves_out_what_is_anothers(cast, dataset):
    assert cast.client(cast.charlie).get("/api/v1/datasets").json()["results"] == []
    assert cast.client(cast.charlie).get(f"/api/v1/datasets?project={cast.project_a.id}").json()["results"] == []
    assert len(cast.client(cast.root).get("/api/v1/datasets").json()["results"]) == 1


@pytest.mark.parametrize(("route", "verb", "body"), [c for c in ALL_CALLS if c[1] != "get"])
def test_a_viewer_writes_nothing(cast, dataset, settings, route, verb, body):
    before = everything(settings)
    answer = call(cast.client(cast.victor), cast, dataset, route, verb, body)
    assert (answer.status_code, answer.json()["code"]) == (403, "role_too_low")
    assert everything(settings) == before


def test_a_viewer_reads(cast, dataset):
    victor = cast.client(cast.victor)
    assert [
        call(victor, cast, dataset, *c).status_code for c in ALL_CALLS if c[1] == "get" and "/clips/" not in c[0]
    ] == [200] * 6
