# SPDX-License-Identifier: Apache-2.0
"""What if: answers of the live policy about one's own jobs, and nothing of it happens."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mlhub.control.models import SchedulerSettings
from mlhub.jobs.models import Job
from mlhub.tenants.actions.limits.user_quotas import limit_user
from mlhub.tenants.models import UserQuota
from tests.cast import make_cast
from tests.control.worlds import World
from tests.jobs.builders import builtin, job, ready_dataset

pytestmark = pytest.mark.django_db
PATH = "/api/v1/what-if"


@pytest.fixture
def world() -> World:
    """Fifo on four GPUs; `first` holds all of them, `second` wants all of them."""
    found = World(make_cast(), now=datetime.now(UTC) - timedelta(seconds=60))
    SchedulerSettings.objects.update_or_create(pk=1, defaults={"policy": "fifo"})
    return found


def filled(world: World) -> tuple[Job, Job]:
    first = world.job(name="first", min_workers=4)
    world.rounds(2)
    second = world.job(name="second", min_workers=4)
    world.rounds(2)
    return first, second


def ask(world: World, user: Any, **question: Any) -> Any:
    return world.cast.client(user).post(PATH, question)


def effects(world: World, user: Any, **question: Any) -> dict[str, Any]:
    answer = ask(world, user, **question)
    assert answer.status_code == 200, answer.content
    return {e["name"]: e for e in answer.json()["effects"]}


def submission(world: World, **more: Any) -> dict[str, Any]:
    dataset, model = ready_dataset(world.cast.project_a, world.cast.bob), builtin()
    return {"dataset": str(dataset.dataset_id), "model": str(model.model_id), "epochs": 2, "batch_size": 32, **more}


def test_cancelling_a_job_lets_the_next_one_start_at_once(world: World) -> None:
    first, _ = filled(world)
    found = effects(world, world.cast.bob, cancel=[str(first.id)])
    assert (found["first"]["role"], found["first"]["after"]) == ("cancelled", None)
    second = found["second"]
    assert (second["before"]["decision"], second["after"]["decision"]) == ("wait", "launch")
    assert second["start_delta_s"] < 0
    assert second["finish_delta_s"] < 0
    first.refresh_from_db()
    assert (first.state, first.intent) == ("running", "run")


def test_a_job_that_would_be_submitted_learns_when_it_would_start_and_end_and_is_not_there(world: World) -> None:
    filled(world)
    n_before = Job.objects.count()
    answer = ask(world, world.cast.bob, submit=submission(world, name="third", min_workers=4)).json()
    assert answer["basis"] == "validated"
    (third,) = [e for e in answer["effects"] if e["role"] == "submitted"]
    assert (third["name"], third["before"], third["after"]["decision"]) == ("third", None, "wait")
    assert third["after"]["start_at"] < third["after"]["finish_at"] < third["after"]["finish_p90_at"]
    assert third["after"]["explanations"][0]["sentence"]
    assert Job.objects.count() == n_before


def test_a_job_that_could_never_run_is_refused_as_if_it_were_submitted(world: World) -> None:
    first, _ = filled(world)
    answer = ask(world, world.cast.bob, submit=submission(world, min_workers=40, batch_size=64))
    assert answer.status_code == 422
    assert "4 GPUs" in answer.json()["detail"]
    asked = {"kind": "predict", "model_of": str(first.id), "dataset": submission(world)["dataset"]}
    assert ask(world, world.cast.bob, submit=asked).json()["errors"][0]["field"] == "submit.kind"


def test_priority_and_size_change_who_is_first(world: World) -> None:
    first, _ = filled(world)
    third = world.job(name="third", min_workers=4)
    world.rounds(1)
    found = effects(world, world.cast.bob, jobs=[{"job": str(third.id), "priority": 50}])
    assert found["third"]["role"] == "changed"
    assert found["third"]["finish_delta_s"] < 0 < found["second"]["finish_delta_s"]
    assert "first" not in found
    smaller = effects(world, world.cast.bob, jobs=[{"job": str(first.id), "n_workers": 4}])
    assert set(smaller) == {"first"}


@pytest.mark.slow
def test_more_nodes_and_other_policies_are_for_administrators_to_ask(world: World) -> None:
    filled(world)
    for question in ({"add_nodes": {"nodes": 2, "gpus": 2}}, {"remove_nodes": ["n0"]}, {"policy": {"name": "srtf"}}):
        assert ask(world, world.cast.alice, **question).status_code == 403
        assert ask(world, world.cast.root, **question).status_code == 200
    found = effects(world, world.cast.root, add_nodes={"nodes": 2, "gpus": 2})
    assert found["second"]["after"]["decision"] == "launch"
    lost = effects(world, world.cast.root, remove_nodes=["n0"])
    assert lost["first"]["after"]["decision"] == "preempt"


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ({}, "submit"),
        ({"remove_nodes": ["nowhere"]}, "remove_nodes"),
        ({"policy": {"name": "luck"}}, "policy"),
        ({"policy": {"name": "mlhub", "parameters": {"luck": 7}}}, "parameters.luck"),
    ],
)
def test_what_does_not_exist_is_named(world: World, question: dict[str, Any], field: str) -> None:
    answer = ask(world, world.cast.root, **question)
    assert answer.status_code == 422
    assert field in str(answer.json()["errors"])


def test_a_quota_can_be_supposed_by_its_own_people(world: World) -> None:
    filled(world)
    a, b = str(world.cast.a.id), str(world.cast.b.id)
    found = effects(world, world.cast.bob, quotas=[{"organisation": a, "max_gpus": 2}])
    assert found["second"]["after"]["explanations"][0]["reason"] == "larger_than_quota"
    assert ask(world, world.cast.bob, quotas=[{"organisation": b, "max_gpus": 2}]).status_code in (404, 422)


def test_limits_of_users_are_supposed_by_admins_of_what_they_are_of(world: World) -> None:
    first, second = filled(world)
    a, project = str(world.cast.a.id), str(world.cast.project_a.id)
    found = effects(world, world.cast.alice, user_quotas=[{"organisation": a, "max_gpus": 2}])
    assert found["second"]["after"]["explanations"][0]["reason"] == "larger_than_user_quota"
    assert "bob" in found["second"]["after"]["explanations"][0]["sentence"]
    # everyone's limit is not that of a person who is given an own one in the same question
    spared = [{"project": project, "max_gpus": 2}, {"project": project, "username": "bob", "max_gpus": 8}]
    assert "second" not in effects(world, world.cast.alice, user_quotas=spared)
    assert not UserQuota.objects.exists()
    assert ask(world, world.cast.bob, user_quotas=[{"organisation": a, "max_gpus": 2}]).status_code == 403
    of_others = ask(world, world.cast.alice, user_quotas=[{"organisation": str(world.cast.b.id), "max_gpus": 2}])
    assert of_others.status_code in (404, 422)
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, second.state) == ("running", "queued")


def test_a_limit_of_a_user_that_is_lifted_lets_the_job_start(world: World) -> None:
    limit_user(world.cast.a, world.cast.bob, max_gpus=2, actor=world.cast.alice)
    world.job(name="first", min_workers=4)
    world.rounds(2)
    asked = {"organisation": str(world.cast.a.id), "username": "bob", "max_gpus": None}
    (found,) = ask(world, world.cast.alice, user_quotas=[asked]).json()["effects"]
    assert (found["before"]["decision"], found["after"]["decision"]) == ("wait", "launch")


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"max_gpus": 2}, "organisation"),
        ({"username": "nobody-here", "max_gpus": 2}, "username"),
        ({"max_gpuss": 2}, "max_gpuss"),
        ({"version": 1, "max_gpus": 2}, "version"),
        ({"gpus_by_type": {"": 2}}, "gpus_by_type"),
    ],
)
def test_a_typo_in_supposed_limits_of_users_is_named(world: World, asked: dict[str, Any], field: str) -> None:
    owner = {} if field == "organisation" else {"organisation": str(world.cast.a.id)}
    answer = ask(world, world.cast.alice, user_quotas=[owner | asked])
    assert answer.status_code == 422
    assert field in str(answer.json()["errors"])


def test_no_one_asks_about_or_learns_of_another_organisation_s_jobs(world: World) -> None:
    first, second = filled(world)
    hers = job(world.cast.project_b, world.cast.charlie, name="secret plan", min_workers=4)
    world.rounds(1)
    charlie = world.cast.charlie
    for question in ({"cancel": [str(first.id)]}, {"jobs": [{"job": str(second.id), "priority": 9}]}):
        assert ask(world, charlie, **question).status_code in (404, 422)
    answer = ask(world, world.cast.bob, cancel=[str(first.id)])
    assert "secret plan" not in answer.content.decode()
    assert str(hers.id) not in answer.content.decode()
    assert ask(world, charlie, submit=submission(world)).status_code in (404, 422)
    assert world.cast.client(None).post(PATH, {"cancel": [str(first.id)]}).status_code == 401
