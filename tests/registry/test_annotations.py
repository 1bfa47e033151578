# SPDX-License-Identifier: Apache-2.0
"""Tags and notes of model versions: written by members, read by viewers, each change audited."""

from __future__ import annotations

import pytest

from mlhub.events.models import Event
from mlhub.registry.models import Model, ModelVersion
from tests.jobs.builders import builtin
from tests.registry.packages import a_dataset, code_of, trained, upload

CARD = "# Digits\n\nDoes **not** read letters. <script>alert(1)</script>\n"


@pytest.fixture
def version(cast) -> ModelVersion:
    assert upload(cast.client(cast.bob), cast.project_a).status_code == 201
    return trained(code_of(Model.objects.get()), a_dataset(cast.project_a, cast.bob), cast.bob)


def test_members_write_tags_and_notes_of_a_version_and_each_change_is_audited(cast, version):
    bob, address = cast.client(cast.bob), f"/api/v1/model-versions/{version.id}"
    answer = bob.patch(address, {"tags": ["paper", "baseline", "paper"], "notes": CARD})
    assert (answer.status_code, answer.json()["tags"], answer.json()["notes"]) == (200, ["baseline", "paper"], CARD)
    assert bob.patch(address, {"tags": ["baseline", "paper"]}).status_code == 200  # changes nothing
    assert cast.client(cast.victor).get(address).json()["notes"] == CARD
    (row,) = (
        cast.client(cast.victor).get(f"/api/v1/models/{version.model_id}/versions?source=training").json()["results"]
    )
    assert (row["tags"], "notes" in row) == (["baseline", "paper"], False)  # a page of long notes would be slow
    (event,) = Event.objects.filter(kind="model.version_annotated").order_by("id")
    facts = {name: event.facts[name] for name in ("number", "before", "after", "is_noted")}
    assert facts == {"number": 2, "before": {"tags": []}, "after": {"tags": ["baseline", "paper"]}, "is_noted": True}


def test_viewers_strangers_and_built_in_models_are_refused(cast, version):
    address = f"/api/v1/model-versions/{version.id}"
    assert cast.client(cast.victor).patch(address, {"notes": "x"}).status_code == 403
    assert cast.client(cast.charlie).patch(address, {"notes": "x"}).status_code == 404
    own = cast.client(cast.bob).patch(f"/api/v1/model-versions/{builtin().id}", {"notes": "x"})
    assert (own.status_code, own.json()["code"]) == (403, "built_in")
    version.refresh_from_db()
    assert version.notes == ""


@pytest.mark.parametrize(
    ("body", "field"),
    [({"tags": ["a,b"]}, "tags.0"), ({"notes": "x" * 50_001}, "notes"), ({"note": "x"}, "note"), ({}, "notes")],
)
def test_what_cannot_be_written_is_refused_by_its_field(cast, version, body, field):
    answer = cast.client(cast.bob).patch(f"/api/v1/model-versions/{version.id}", body)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
