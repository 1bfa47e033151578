# SPDX-License-Identifier: Apache-2.0
"""Resources and limits are fields of a job: validated, cloned, used for its pods, and never given to the model."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from django.apps import apps

from mlhub.control.pods.pod_resources import requested_servers, server_resources, worker_resources
from mlhub.jobs.limits.stalls import stall_limit_s
from mlhub.jobs.models import Job
from tests.cast import Cast, make_cast
from tests.jobs import builders

GIB = 2**30
ASKED = {"cpus": 2.0, "memory_gib": 3.0, "n_servers": 2, "server_memory_gib": 1.5}


@pytest.fixture
def cast() -> Cast:
    return make_cast(max_gpus=4)


def submit(cast: Cast, **body: Any) -> Any:
    dataset, model = builders.ready_dataset(cast.project_a, cast.bob), builders.builtin()
    request = {"dataset_version": str(dataset.id), "model_version": str(model.id), "epochs": 1, "batch_size": 8, **body}
    return cast.client(cast.bob).post("/api/v1/jobs", request, format="json")


@pytest.mark.django_db
def test_what_was_asked_for_is_what_pods_get_and_what_a_clone_asks_for(cast: Cast) -> None:
    answer = submit(cast, resources=ASKED, limits={"stall_s": 900})
    assert answer.status_code == 201, answer.content
    assert (answer.json()["resources"], answer.json()["limits"]) == (ASKED, {"stall_s": 900})
    job = Job.objects.get(pk=answer.json()["id"])
    assert (worker_resources(job).cpus, worker_resources(job).memory_bytes) == (2.0, 3 * GIB)
    assert (requested_servers(job), server_resources(job).memory_bytes) == (2, 1.5 * GIB)
    assert stall_limit_s(job) == 900
    assert job.hyperparameters == {}
    clone = cast.client(cast.bob).post(f"/api/v1/jobs/{job.id}/clone", {"limits": {"stall_s": 60}}, format="json")
    assert (clone.json()["resources"], clone.json()["limits"]) == (ASKED, {"stall_s": 60})


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"resources": {"memory_gib": 0.1}}, "resources.memory_gib"),
        ({"resources": {"cpus": "many"}}, "resources.cpus"),
        ({"resources": {"n_servers": 1.5}}, "resources.n_servers"),
        ({"resources": 3}, "resources"),
        ({"limits": {"stall_s": 1}}, "limits.stall_s"),
    ],
)
def test_a_refusal_names_the_resource_or_limit(cast: Cast, body: dict[str, Any], field: str) -> None:
    answer = submit(cast, **body)
    assert answer.status_code == 422, answer.content
    assert field in {error["field"] for error in answer.json()["errors"]}


@pytest.mark.django_db
def test_a_built_in_model_that_is_given_a_former_setting_says_where_it_belongs(cast: Cast) -> None:
    answer = submit(cast, hyperparameters={"stall_limit_s": 900})
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert (error["field"], error["remedy"]) == ("hyperparameters.stall_limit_s", "Give the job's limits.stall_s.")


@pytest.mark.django_db
def test_a_job_whose_model_has_a_hyperparameter_of_a_former_setting_keeps_it_and_shows_a_hint(cast: Cast) -> None:
    job = builders.job(cast.project_a, cast.bob, hyperparameters={"memory_gib": 4, "width": 8})
    shown = cast.client(cast.bob).get(f"/api/v1/jobs/{job.id}").json()
    assert (shown["hyperparameters"], shown["resources"]) == ({"memory_gib": 4, "width": 8}, {})
    (hint,) = shown["hints"]
    assert hint.startswith("memory_gib is now resources.memory_gib")


@pytest.mark.django_db
def test_resources_of_older_jobs_move_out_of_their_hyperparameters_and_back(cast: Cast) -> None:
    # Its functions alone, on today's tables: to go back to the schema of then takes all later migrations twice.
    migration = import_module("mlhub.jobs.migrations.0006_resources_and_limits")
    old = {"width": 8, "memory_gib": 4, "n_servers": 3, "stall_limit_s": 700}
    job = builders.job(cast.project_a, cast.bob, hyperparameters=old)
    migration.move_out(apps, None)
    job.refresh_from_db()
    assert job.hyperparameters == {"width": 8}
    assert (job.resources, job.limits) == ({"memory_gib": 4, "n_servers": 3}, {"stall_s": 700})
    migration.move_back(apps, None)
    job.refresh_from_db()
    assert job.hyperparameters == old


@pytest.mark.django_db
def test_what_no_job_names_is_the_administrators_choice_on_a_cluster(cast: Cast, settings: Any) -> None:
    plain, asking = builders.job(cast.project_a, cast.bob), builders.job(cast.project_a, cast.bob, resources=ASKED)
    assert (worker_resources(plain).cpus, server_resources(plain).cpus) == (1.0, 0.5)
    settings.KUBERNETES = {"worker_cpus": "4", "server_cpus": "2", "worker_memory_bytes": str(16 * GIB)}
    assert worker_resources(plain).cpus == 1.0
    settings.BACKEND = "kubernetes"
    assert (worker_resources(plain).cpus, worker_resources(plain).memory_bytes) == (4.0, 16 * GIB)
    assert server_resources(plain).cpus == 2.0
    assert (worker_resources(asking).cpus, worker_resources(asking).memory_bytes) == (2.0, 3 * GIB)
    measured = builders.job(cast.project_a, cast.bob, profile={"memory_bytes": 20 * GIB})
    assert worker_resources(measured).memory_bytes == 40 * GIB
    settings.KUBERNETES = {"worker_cpus": "0"}
    with pytest.raises(ValueError, match=r"MLHUB_KUBE_WORKER_CPUS is 0; it must be 0\.1 or more"):
        worker_resources(plain)
