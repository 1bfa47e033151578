# SPDX-License-Identifier: Apache-2.0
"""What machines with agents cached of data that was deleted goes there, too; and what their tokens show of others."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from mlhub.backends.agents.messages import MOST_HASHES, MOST_PROJECTS
from mlhub.clusters.cached_inputs import InputUse, record_input_use
from mlhub.clusters.models import Agent, CachedInput
from mlhub.control.observation.inventory import record_inventory
from mlhub.core.installation import installation
from mlhub.jobs.models import Allocation, Attempt
from mlhub.retention import tasks
from mlhub.tenants.models import Project
from tests.cast import Cast, make_cast
from tests.control.agents.test_api import Machine, backend
from tests.datasets import files
from tests.datasets.test_uploads import upload
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db
CACHES = "/api/v1/ingest/agents/caches"


@pytest.fixture
def cast(settings: Any) -> Cast:
    settings.BACKEND = "agents"
    return make_cast()


@pytest.fixture
def machine(cast: Cast) -> Machine:
    found = Machine(cast, "node-1")
    assert found.sync().status_code == 200
    record_inventory(backend().inventory(), now=timezone.now())
    return found


def ask(
    machine: Machine, projects: Any, inputs: dict[UUID, list[str]] | None = None, *, instance: str = "first"
) -> Any:
    held = [{"project": str(project), "sha256s": sha256s} for project, sha256s in (inputs or {}).items()]
    body = {"instance": instance, "projects": [str(project) for project in projects], "inputs": held}
    return APIClient(headers={"Authorization": f"Bearer {machine.token}"}).post(CACHES, body, format="json")


def ran(cast: Cast, project: Project, *, node: str = "node-1", **fields: Any) -> None:
    """A job of the project was on the machine."""
    attempt = Attempt.objects.create(job=job(project, cast.bob, **fields), number=1, n_workers=1)
    Allocation.objects.create(attempt=attempt, node=node, slots=[0])


def lost(answer: Any) -> tuple[set[str], dict[str, set[str]]]:
    assert answer.status_code == 200, answer.json()
    found = answer.json()
    return set(found["projects"]), {one["project"]: set(one["sha256s"]) for one in found["inputs"]}


def test_a_deleted_project_is_to_go_and_one_that_is_there_stays(cast: Cast, machine: Machine) -> None:
    ran(cast, cast.project_a)
    gone = uuid4()
    assert lost(ask(machine, [cast.project_a.pk, gone])) == ({str(gone)}, {})
    assert lost(ask(machine, [])) == (set(), {})


def test_a_deleted_dataset_is_to_go_with_what_is_known_of_it_and_data_that_jobs_are_on_stays(
    cast: Cast, machine: Machine
) -> None:
    bob, project = cast.client(cast.bob), cast.project_a
    other = Project.objects.create(organisation=cast.a, name="other")
    kept, gone = (
        upload(bob, project, name=name, content=files.csv(n)).json() for name, n in (("kept", 9), ("gone", 8))
    )
    shared = upload(bob, other, name="shared", content=files.csv(7)).json()
    of_kept, of_gone, of_shared = (one["latest_version"]["files"][0]["sha256"] for one in (kept, gone, shared))
    ran(cast, project)
    uses = [InputUse(sha256, 2**30, 1.0) for sha256 in (of_kept, of_gone)]
    record_input_use("node-1", project=project.pk, uses=uses, now=timezone.now())
    held = {project.pk: [of_kept, of_gone, "0" * 64]}  # the last one: of the job's own data, which nothing holds
    assert lost(ask(machine, [project.pk], held))[1] == {str(project.pk): {"0" * 64}}
    assert bob.delete(f"/api/v1/datasets/{gone['id']}").status_code == 204
    # the same content in another project keeps nothing here
    upload(bob, other, name="again", content=files.csv(8))
    assert lost(ask(machine, [project.pk], held)) == (set(), {str(project.pk): {of_gone, "0" * 64}})
    assert [one.sha256 for one in CachedInput.objects.all()] == [of_kept]
    assert lost(ask(machine, [project.pk], {project.pk: [of_shared]}))[1] == {str(project.pk): {of_shared}}
    on = job(project, cast.bob, name="on-shared")
    type(on).objects.filter(pk=on.pk).update(dataset_version=shared["latest_version"]["id"])
    assert lost(ask(machine, [project.pk], {project.pk: [of_shared]}))[1] == {}


def test_many_projects_are_asked_about_at_once_in_as_many_queries_as_one(cast: Cast, machine: Machine) -> None:
    projects = [Project.objects.create(organisation=cast.a, name=f"many-{i}") for i in range(4)]
    foreign = upload(cast.client(cast.bob), cast.project_a, name="foreign", content=files.csv(9)).json()
    of_foreign = foreign["latest_version"]["files"][0]["sha256"]
    for project in projects:
        ran(cast, project)
    on = job(projects[1], cast.bob, name="on-foreign")
    type(on).objects.filter(pk=on.pk).update(dataset_version=foreign["latest_version"]["id"])

    def cost(asked: list[Project]) -> tuple[int, Any]:
        with CaptureQueriesContext(connection) as queries:
            answer = ask(machine, [one.pk for one in asked], {one.pk: [of_foreign] for one in asked})
        return len(queries), lost(answer)[1]

    n_of_one, _ = cost(projects[1:2])
    n_of_all, gone = cost(projects)
    assert n_of_all - (len(projects) - 1) <= n_of_one + 1  # one more for each that loses something
    assert gone == {str(one.pk): {of_foreign} for one in projects if one is not projects[1]}


def test_a_token_shows_nothing_of_projects_that_were_never_on_its_machine(cast: Cast, machine: Machine) -> None:
    ran(cast, cast.project_a, node="node-2")
    made = upload(cast.client(cast.bob), cast.project_a, name="own", content=files.csv(9)).json()
    there, nowhere = cast.project_a.pk, uuid4()
    sha256s = [made["latest_version"]["files"][0]["sha256"], "f" * 64]
    assert lost(ask(machine, [there], {there: sha256s})) == ({str(there)}, {})
    assert lost(ask(machine, [nowhere], {nowhere: sha256s})) == ({str(nowhere)}, {})
    ran(cast, cast.project_a)
    assert lost(ask(machine, [there], {there: sha256s})) == (set(), {str(there): {"f" * 64}})


def test_only_the_agent_itself_is_answered_and_nonsense_and_too_much_are_refused(cast: Cast, machine: Machine) -> None:
    good = {"instance": "first", "projects": [], "inputs": []}
    for token in ("", machine.token + "x", "mlg_node-1_" + "0" * 64):
        client = APIClient(headers={"Authorization": f"Bearer {token}"})
        assert client.post(CACHES, good, format="json").status_code == 401
    for user in (cast.root, cast.alice, cast.charlie):
        assert cast.client(user).post(CACHES, good, format="json").status_code == 401
    assert ask(machine, [], instance="second").json()["code"] == "agent_runs_elsewhere"
    project = str(uuid4())
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("projects", {"projects": ["../../etc"]}),
        ("projects", {"projects": [project] * (MOST_PROJECTS + 1)}),
        ("inputs", {"projects": [project], "inputs": [{"project": project, "sha256s": ["A" * 64]}]}),
        ("inputs", {"inputs": [{"project": project, "sha256s": []}]}),
        ("inputs", {"projects": [project], "inputs": [{"project": project, "sha256s": ["a" * 64] * MOST_HASHES}] * 2}),
        ("folders", {"folders": []}),
    ]
    for field, changes in wrong:
        client = APIClient(headers={"Authorization": f"Bearer {machine.token}"})
        answer = client.post(CACHES, {**good, **changes}, format="json")
        assert answer.status_code == 422, (field, answer.content)
        assert field in answer.content.decode()


def test_after_a_restore_nothing_is_to_go(cast: Cast, machine: Machine) -> None:
    found = installation()
    found.restored_at = timezone.now()
    found.save()
    gone = uuid4()
    assert lost(ask(machine, [gone], {gone: ["a" * 64]})) == (set(), {})
    assert Agent.objects.get().caches_clean_at is None


def test_a_deletion_says_which_machines_may_still_hold_some_of_it(cast: Cast, machine: Machine) -> None:
    ran(cast, cast.project_a, state="succeeded", finished_at=timezone.now())
    Attempt.objects.update(ended_at=timezone.now(), outcome="succeeded")
    project, alice = cast.project_a.pk, cast.client(cast.alice)
    assert lost(ask(machine, [project])) == (set(), {})  # clean before it
    begun = alice.post(f"/api/v1/projects/{project}/deletion", {"name": "vision"}).json()
    assert (begun["n_machines_left"], begun["machines_left"]) == (1, ["node-1"])
    assert tasks.erase_organisations() == 1

    def left() -> list[str]:
        found = alice.get(f"/api/v1/project-deletions/{begun['id']}").json()
        assert found["ended_at"] is not None
        assert found["n_machines_left"] == len(found["machines_left"])
        return list(found["machines_left"])

    assert left() == ["node-1"]
    assert lost(ask(machine, [project])) == ({str(project)}, {})
    assert left() == ["node-1"]  # it was answered, and has not said that it is gone
    assert lost(ask(machine, [])) == (set(), {})
    assert left() == []
    Agent.objects.update(caches_clean_at=timezone.now() - timedelta(days=1))
    assert left() == ["node-1"]
