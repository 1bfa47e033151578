# SPDX-License-Identifier: Apache-2.0
"""Secrets of projects and variables of jobs: given to pods, shown to no one, refused where they do not exist."""

from __future__ import annotations

import json

import pytest

from mlhub.control.pods.launch_specs import launch_spec
from mlhub.environments.models import ProjectSecret
from mlhub.environments.secrets import secret_values
from mlhub.events.models import Event
from mlhub.jobs.attempts import Held, open_attempt
from mlhub.jobs.models import Job
from mlhub.wire.masking import SecretMask
from tests.jobs.builders import builtin, job, ready_dataset

VALUE = "hf_s3cret-value"


def put(client, project, name="HF_TOKEN", value=VALUE):
    return client.put(f"/api/v1/projects/{project.id}/secrets/{name}", {"value": value}, format="json")


def submit(client, cast, **asked):
    body = {"dataset_version": ready_dataset(cast.project_a, cast.bob).id, "model_version": builtin().id, **asked}
    return client.post("/api/v1/jobs", body, format="json")


def test_a_secret_is_set_replaced_listed_by_name_and_deleted_and_its_value_is_never_shown(cast):
    bob = cast.client(cast.bob)
    answers = [put(bob, cast.project_a), put(bob, cast.project_a, value="another-value")]
    listed = bob.get(f"/api/v1/projects/{cast.project_a.id}/secrets")
    assert [each.status_code for each in (*answers, listed)] == [200, 200, 200]
    assert [(row["name"], row["set_by"]["username"]) for row in listed.json()["results"]] == [("HF_TOKEN", "bob")]
    shown = json.dumps([each.json() for each in (*answers, listed)]) + str(list(Event.objects.values("facts")))
    assert VALUE not in shown
    assert "another-value" not in shown
    assert VALUE.encode() not in bytes(ProjectSecret.objects.get().encrypted)
    assert secret_values(cast.project_a.id, ["HF_TOKEN"]) == {"HF_TOKEN": "another-value"}
    address = f"/api/v1/projects/{cast.project_a.id}/secrets/HF_TOKEN"
    assert [bob.delete(address).status_code, bob.delete(address).status_code] == [204, 404]
    kinds = list(Event.objects.filter(kind__startswith="secret.").order_by("id").values_list("kind", flat=True))
    assert kinds == ["secret.created", "secret.replaced", "secret.deleted"]


def test_a_project_of_another_organisation_has_no_secrets_to_see_or_set(cast):
    put(cast.client(cast.bob), cast.project_a)
    charlie, victor = cast.client(cast.charlie), cast.client(cast.victor)
    address = f"/api/v1/projects/{cast.project_a.id}/secrets"
    assert charlie.get(address).status_code == 404
    assert put(charlie, cast.project_a).status_code == 404
    assert charlie.delete(f"{address}/HF_TOKEN").status_code == 404
    assert victor.get(address).json()["results"][0]["name"] == "HF_TOKEN"
    assert put(victor, cast.project_a).status_code == 403


@pytest.mark.parametrize(
    ("name", "value"),
    [("1X", VALUE), ("A-B", VALUE), ("PATH", VALUE), ("MLHUB_TOKEN_FILE", VALUE), ("OK", "abc"), ("OK", "x" * 40_000)],
)
def test_a_name_of_the_platform_or_a_value_that_cannot_be_masked_is_refused(cast, name, value):
    answer = put(cast.client(cast.bob), cast.project_a, name, value)
    assert answer.status_code == 422, answer.json()
    assert not ProjectSecret.objects.exists()


def test_secrets_stay_readable_after_the_platforms_key_was_rotated(cast, settings):
    put(cast.client(cast.bob), cast.project_a)
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = (
        [settings.SECRET_KEY],
        "another key of the platform, long enough",
    )
    assert secret_values(cast.project_a.id, ["HF_TOKEN"]) == {"HF_TOKEN": VALUE}
    settings.SECRET_KEY_FALLBACKS = []
    assert secret_values(cast.project_a.id, ["HF_TOKEN"]) == {}


def test_a_job_gets_its_variables_and_secrets_in_its_pods_and_shows_names_only(cast):
    bob = cast.client(cast.bob)
    put(bob, cast.project_a)
    answer = submit(bob, cast, environment={"EPS": "0.1"}, secrets=["HF_TOKEN"])
    assert answer.status_code == 201, answer.json()
    assert (answer.json()["environment"], answer.json()["secrets"]) == ({"EPS": "0.1"}, ["HF_TOKEN"])
    assert VALUE not in json.dumps(answer.json())
    clone = bob.post(f"/api/v1/jobs/{answer.json()['id']}/clone", {}, format="json").json()
    assert (clone["environment"], clone["secrets"]) == ({"EPS": "0.1"}, ["HF_TOKEN"])


def test_the_launch_holds_the_values_and_what_is_stored_of_it_does_not(cast, now):
    put(cast.client(cast.bob), cast.project_a)
    made = job(cast.project_a, cast.bob, environment={"EPS": "0.1"}, secrets=["HF_TOKEN"])
    held = [Held("node-0", (0,), 0)]
    attempt = open_attempt(
        made, mode="all_reduce", n_workers=1, n_servers=0, held=held, predicted_step_s=None, reason="test", now=now
    )
    spec = launch_spec(attempt)
    assert (spec.variables, spec.secrets) == ({"EPS": "0.1"}, {"HF_TOKEN": VALUE})
    assert VALUE not in spec.without_secrets().to_json() + repr(spec)


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"secrets": ["NOT_THERE"]}, "secrets"),
        ({"environment": {"RANK": "1"}}, "environment"),
        ({"environment": {"a b": "1"}}, "environment"),
        ({"environment": {"HF_TOKEN": "1"}, "secrets": ["HF_TOKEN"]}, "environment"),
        ({"environment": {f"V{i}": "" for i in range(101)}}, "environment"),
    ],
)
def test_a_secret_that_does_not_exist_and_variables_that_cannot_be_are_refused(cast, asked, field):
    bob = cast.client(cast.bob)
    put(bob, cast.project_a)
    answer = submit(bob, cast, **asked)
    assert answer.status_code == 422, answer.json()
    assert field in json.dumps(answer.json())
    assert not Job.objects.exists()


def test_every_line_of_a_secret_is_masked_in_text_and_in_json():
    mask = SecretMask(['first line\nsecond "line"', "first line, longer", "abc"])
    assert mask("it is first line, longer; first line") == "it is ***; ***"
    assert mask(json.dumps({"a": 'second "line"'})) == '{"a": "***"}'
    assert mask("abc") == "abc", "three characters are in any text"
