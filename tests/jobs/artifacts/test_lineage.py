# SPDX-License-Identifier: Apache-2.0
"""The lineage of model versions: where they come from, who used them, within what the caller may see."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.jobs.artifacts import lineage
from mlhub.jobs.models import Job
from mlhub.registry.models import ModelVersion
from tests.cast import Cast, make_cast
from tests.jobs.builders import builtin, job
from tests.registry.packages import trained

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def result_of(made: Job) -> ModelVersion:
    code = made.model_version.code_version or made.model_version
    version = trained(code, made.dataset_version, made.created_by, job_id=made.pk)
    Job.objects.filter(pk=made.pk).update(result_version=version, state="succeeded")
    return version


def lineage_of(cast: Cast, version: ModelVersion, user: Any = None) -> Any:
    path = f"/api/v1/models/{version.model_id}/versions/{version.number}/lineage"
    return cast.client(user or cast.bob).get(path)


def edges(answer: Any) -> set[tuple[str, str]]:
    names = {node["id"]: f"{node['name']}:{node['number'] or node['state']}" for node in answer["nodes"]}
    return {(names[edge["source"]], names[edge["target"]]) for edge in answer["edges"]}


def test_a_trained_version_leads_from_its_data_and_code_to_the_jobs_that_used_it(cast: Cast) -> None:
    first = result_of(job(cast.project_a, cast.bob, name="first"))
    further = job(cast.project_a, cast.bob, name="further")
    asked = job(cast.project_a, cast.bob, name="asked", kind="predict")
    Job.objects.filter(pk__in=[further.pk, asked.pk]).update(model_version=first)
    second = result_of(Job.objects.get(pk=further.pk))
    answer = lineage_of(cast, first).json()
    line = first.model.name
    assert edges(answer) == {
        ("blobs:1", "first:succeeded"), ("mlp:1", "first:succeeded"), ("first:succeeded", f"{line}:1"),
        (f"{line}:1", "further:succeeded"), ("further:succeeded", f"{line}:2"), (f"{line}:1", "asked:queued"),
    }  # fmt: skip
    assert (answer["version"], answer["n_left_out"]) == (str(first.pk), 0)
    onward = lineage_of(cast, second, user=cast.victor).json()
    assert (f"{line}:1", "further:succeeded") in edges(onward)  # the weights that it began with
    assert lineage_of(cast, first, user=cast.charlie).status_code == 404


def test_the_version_of_a_deleted_job_keeps_its_data_and_code(cast: Cast) -> None:
    made = job(cast.project_a, cast.bob)
    version = result_of(made)
    Job.objects.filter(pk=made.pk).delete()
    assert edges(lineage_of(cast, version).json()) == {
        ("blobs:1", f"{version.model.name}:1"), ("mlp:1", f"{version.model.name}:1"),
    }  # fmt: skip


def test_a_built_in_model_shows_the_newest_of_the_callers_own_jobs(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineage, "MAX_USERS", 2)
    for name in ("one", "two", "three"):
        job(cast.project_a, cast.bob, name=name)
    job(cast.project_b, cast.charlie, name="of others")
    answer = lineage_of(cast, builtin()).json()
    assert {target for _, target in edges(answer)} == {"two:queued", "three:queued"}
    assert answer["n_left_out"] == 1
