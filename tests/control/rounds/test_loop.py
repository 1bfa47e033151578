# SPDX-License-Identifier: Apache-2.0
"""The control loop with real rows, a fake backend and a frozen clock: observe, decide, apply, again and again."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.control.models import SchedulerSettings
from mlhub.control.rounds.loop import Loop, look_after, rest_after
from mlhub.events.models import Event
from mlhub.jobs import actions, attempts
from mlhub.jobs.models import Allocation, Attempt, Job
from mlhub.tenants.actions import set_quota
from mlhub.tenants.models import Membership, Project
from mlhub.tenants.roles import Role
from mlhub.wire.exits import Cause
from mlhub.wire.launch import SyncMode
from scheduler import decide, policy_named
from scheduler.api.memory import RoundMemory
from scheduler.api.records import plan_to_json, snapshot_from_json
from tests.cast import make_cast
from tests.control.worlds import World, state
from tests.jobs.builders import LONG, job, live_attempt

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return World(make_cast())


def test_a_job_alone_starts_with_more_than_one_worker_runs_and_succeeds(world: World) -> None:
    alone = world.job(**LONG)
    world.round()
    assert state(alone) == "starting"
    (launch,) = world.backend.launches
    assert len(launch.workers) >= 2
    assert len({(p.node, p.slots) for p in launch.workers}) == len(launch.workers)
    assert alone.first_predicted_finish_at is not None
    world.round()
    assert state(alone) == "running"
    world.backend.finish(str(launch.attempt_id))
    world.round()
    assert state(alone) == "succeeded"
    assert not Allocation.objects.filter(released_at=None).exists()
    assert world.backend.observe() == []


def test_a_job_that_has_not_been_tried_out_waits_and_says_so(world: World) -> None:
    untried = world.job(is_tried=False)
    world.round()
    assert state(untried) == "queued"
    assert untried.explanations[0]["reason"] == "preflight"
    assert untried.explanations[0]["sentence"]


def test_a_job_over_quota_waits_with_the_numbers_and_a_new_quota_counts_in_the_next_round(world: World) -> None:
    set_quota(world.cast.a, max_gpus=1, actor=world.cast.root)
    first, second = world.job(name="first"), world.job(name="second")
    world.rounds(2)
    assert sorted([state(first), state(second)]) == ["queued", "running"]
    waiting = first if first.state == "queued" else second
    explanation = waiting.explanations[0]
    assert explanation["reason"] == "quota_gpus"
    assert "1" in explanation["sentence"]
    set_quota(world.cast.a, max_gpus=2, actor=world.cast.root)
    world.rounds(2)
    assert state(waiting) == "running"


def test_reasons_name_one_s_own_jobs_and_no_one_else_s(world: World) -> None:
    SchedulerSettings.objects.update_or_create(pk=1, defaults={"policy": "fifo"})
    world.job(name="small", max_workers=1)
    world.rounds(2)
    job(world.cast.project_b, world.cast.charlie, name="secret plan", min_workers=4)
    Job.objects.filter(name="secret plan").update(submitted_at=world.now)
    last = world.job(name="last", max_workers=1)
    world.round()
    assert state(last) == "queued"
    explained = str(last.explanations)
    assert "secret plan" not in explained
    assert not any(str(other.id) in explained for other in Job.objects.exclude(pk=last.pk))
    assert "another organisation's job" in explained


def test_reasons_name_no_job_of_another_project_where_the_organisation_has_outsiders(world: World) -> None:
    Membership.objects.filter(user=world.cast.victor).update(role=Role.OUTSIDER)
    SchedulerSettings.objects.update_or_create(pk=1, defaults={"policy": "fifo"})
    world.job(name="small", max_workers=1)
    world.rounds(2)
    hidden = Project.objects.create(organisation=world.cast.a, name="hidden")
    job(hidden, world.cast.bob, name="secret plan", min_workers=4)
    Job.objects.filter(name="secret plan").update(submitted_at=world.now)
    last = world.job(name="last", max_workers=1)
    world.round()
    assert state(last) == "queued"
    assert "secret plan" not in str(last.explanations)
    assert "another project's job" in str(last.explanations)


def test_pinned_modes_are_kept(world: World) -> None:
    servers = world.job(mode="parameter_server", max_workers=1)
    reduce = world.job(mode="all_reduce", max_workers=1)
    world.round()
    modes = {launch.job_id: launch for launch in world.backend.launches}
    assert modes[str(servers.id)].mode is SyncMode.PARAMETER_SERVER
    assert len(modes[str(servers.id)].servers) >= 1
    assert modes[str(reduce.id)].mode is SyncMode.ALL_REDUCE
    assert not modes[str(reduce.id)].servers


def test_a_job_has_as_many_servers_as_it_asks_for(world: World) -> None:
    world.job(mode="parameter_server", max_workers=1, resources={"n_servers": 3, "server_memory_gib": 2}, profile={})
    world.round()
    (launch,) = world.backend.launches
    assert len(launch.servers) == 3
    assert {pod.resources.memory_bytes for pod in launch.servers} == {2 * 2**30}


def test_no_slot_is_given_twice(world: World) -> None:
    for i in range(9):
        world.job(name=f"job {i}")
    world.rounds(3)
    held = [(a.node, slot) for a in Allocation.objects.filter(released_at=None) for slot in a.slots]
    assert len(held) == len(set(held)) <= 4


def test_cancelling_a_running_job_stops_its_gang_and_frees_its_gpus(world: World) -> None:
    running = world.job()
    world.rounds(2)
    actions.cancel_job(running, actor=world.cast.bob)
    world.round()
    assert state(running) == "stopping"
    world.round()
    assert state(running) == "cancelled"
    assert not Allocation.objects.filter(released_at=None).exists()


def test_a_paused_job_saves_leaves_and_goes_on_where_it_was(world: World) -> None:
    running = world.job()
    world.rounds(2)
    first = live_attempt(running)
    actions.pause_job(running, actor=world.cast.bob)
    world.rounds(2)
    assert state(running) == "paused"
    actions.resume_job(running, actor=world.cast.bob)
    world.rounds(2)
    assert state(running) == "running"
    again = live_attempt(running)
    assert again.number == first.number + 1
    assert world.backend.launches[0].checkpoint_uri == world.backend.launches[1].checkpoint_uri
    first.refresh_from_db()
    assert first.is_fenced


def test_a_paused_job_has_no_explanation_and_no_prediction_of_a_round_before(world: World) -> None:
    running = world.job()
    world.rounds(2)
    running.refresh_from_db()
    assert (running.explanations == [], running.predicted_finish_at is None) == (False, False)
    actions.pause_job(running, actor=world.cast.bob)
    world.rounds(3)
    running.refresh_from_db()
    assert (running.state, running.explanations, running.predicted_finish_at) == ("paused", [], None)


def test_a_gang_lost_while_its_user_wants_a_pause_leaves_a_paused_job(world: World) -> None:
    running = world.job()
    world.rounds(2)
    actions.pause_job(running, actor=world.cast.bob)
    world.backend.fail(str(live_attempt(running).id), Cause.KILLED)
    world.round()
    assert state(running) == "paused"
    actions.resume_job(running, actor=world.cast.bob)
    world.round(after_s=300)
    assert state(running) == "starting"


def test_a_stubborn_gang_is_killed_at_the_end_of_its_grace(world: World, settings: Any) -> None:
    settings.STOP_GRACE_S = 30.0
    running = world.job()
    world.rounds(2)
    world.backend.is_stubborn = True
    actions.pause_job(running, actor=world.cast.bob)
    world.round()
    world.round(after_s=20)
    assert state(running) == "stopping"
    world.round(after_s=20)
    assert state(running) == "paused"


def test_the_user_s_fault_ends_the_job_with_cause_and_remedy(world: World) -> None:
    running = world.job()
    world.rounds(2)
    attempt = live_attempt(running)
    Attempt.objects.filter(pk=attempt.pk).update(
        cause="user_code", message="worker 0: ValueError: no", traceback="Traceback ..."
    )
    world.backend.fail(str(attempt.id), Cause.USER_CODE)
    world.round()
    assert state(running) == "failed"
    assert (running.failure["cause"], running.failure["fault"]) == ("user_code", "user")
    assert "ValueError" in running.failure["message"]
    assert running.failure["traceback"] == "Traceback ..."
    assert running.failure["remedy"]


def test_a_pod_that_could_not_even_report_is_quoted_from_the_backend_s_log(world: World, settings: Any) -> None:
    settings.MAX_PLATFORM_RETRIES = 0
    broken = world.job()
    world.rounds(2)
    attempt = live_attempt(broken)
    world.backend.print(str(attempt.id), "ModuleNotFoundError: No module named 'torch'")
    world.backend.fail(str(attempt.id), Cause.UNKNOWN)
    world.round()
    assert state(broken) == "failed"
    assert "No module named 'torch'" in broken.failure["traceback"]


def test_a_lost_node_puts_the_job_back_and_it_starts_elsewhere_after_a_back_off(world: World) -> None:
    running = world.job(max_workers=1)
    world.rounds(2)
    lost = world.backend.launches[0].workers[0].node
    world.backend.lose_node(lost)
    world.round()
    assert state(running) == "queued"
    assert running.explanations[0]["reason"] == "backoff"
    world.round(after_s=300)
    assert state(running) == "starting"
    assert world.backend.launches[1].workers[0].node != lost


def test_a_platform_that_fails_again_and_again_gives_up_and_says_how_often_it_tried(
    world: World, settings: Any
) -> None:
    settings.MAX_PLATFORM_RETRIES = 2
    unlucky = world.job()
    for _ in range(3):
        world.round(after_s=300)
        world.backend.fail(str(live_attempt(unlucky).id), Cause.KILLED)
        world.round()
    assert state(unlucky) == "failed"
    assert unlucky.failure["fault"] == "platform"
    assert "3 times" in unlucky.failure["message"]


def test_a_launch_cut_short_by_a_crash_is_made_in_the_next_round_with_the_same_token(world: World) -> None:
    interrupted = world.job()
    world.backend.is_away = False
    attempts.open_attempt(
        interrupted, mode="all_reduce", n_workers=1, n_servers=0, held=[attempts.Held("n0", (0,), 0)],
        predicted_step_s=None, reason="fits", now=world.now,
    )  # fmt: skip
    world.round()
    (launch,) = world.backend.launches
    assert launch.attempt_id == str(live_attempt(interrupted).id)
    assert launch.token == attempts.token_of(live_attempt(interrupted).id)
    world.rounds(2)
    assert state(interrupted) == "running"


def test_a_backend_that_is_away_changes_nothing_and_is_asked_again(world: World) -> None:
    running = world.job()
    world.rounds(2)
    world.backend.is_away = True
    assert world.round() is None
    assert state(running) == "running"
    world.backend.is_away = False
    world.round()
    assert state(running) == "running"
    assert len(world.backend.launches) == 1


def test_a_gang_that_vanished_counts_as_lost_and_one_whose_attempt_is_over_is_ended(world: World) -> None:
    running = world.job()
    world.rounds(2)
    stray = world.backend.launches[0]
    world.backend.forget_everything()
    world.round()
    assert state(running) == "queued"
    world.backend.launch(stray)
    world.rounds(2)
    assert world.backend.observe() == []


def test_a_new_loop_goes_on_where_the_old_one_died(world: World) -> None:
    running = world.job()
    world.rounds(2)
    world.loop = Loop(world.backend, now=lambda: world.now)
    world.rounds(2)
    assert state(running) == "running"
    assert len(world.backend.launches) == 1


def test_a_stored_round_can_be_decided_again_with_the_same_plan(world: World) -> None:
    for i in range(3):
        world.job(name=f"job {i}")
    record = world.round()
    assert record is not None
    record.refresh_from_db()
    snapshot = snapshot_from_json(record.snapshot)
    policy = policy_named(record.policy, record.parameters)
    again = decide(snapshot, policy=policy, memory=RoundMemory())
    assert plan_to_json(again) == record.plan
    assert record.applied


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["fifo", "srtf", "fair", "mlhub"])
def test_every_policy_brings_all_jobs_to_their_end(world: World, policy: str) -> None:
    SchedulerSettings.objects.update_or_create(pk=1, defaults={"policy": policy})
    jobs = [world.job(name=f"job {i}") for i in range(6)]
    for _ in range(40):
        world.round(after_s=5)
        for attempt in Attempt.objects.live().filter(job__state="running"):
            world.backend.finish(str(attempt.id))
        if all(state(j) == "succeeded" for j in jobs):
            break
    assert [state(j) for j in jobs] == ["succeeded"] * 6


def test_a_gang_without_lockstep_goes_on_when_a_worker_is_lost_and_the_job_s_users_are_notified(world: World) -> None:
    loose = world.job(strategy={"name": "asp"}, mode="parameter_server", min_workers=2, max_workers=2)
    world.rounds(2)
    (launch,) = world.backend.launches
    assert launch.survives_lost_workers
    world.backend.lose_worker(launch.attempt_id, "1 worker was lost: killed.")
    world.rounds(3)
    assert state(loose) == "running"
    (event,) = Event.objects.filter(kind="attempt.workers_lost", subject_id=loose.id)
    assert "killed" in event.facts["message"]


def test_a_gang_in_lockstep_is_started_again_when_a_worker_is_lost(world: World) -> None:
    world.job(mode="parameter_server", min_workers=2, max_workers=2)
    world.rounds(2)
    (launch,) = world.backend.launches
    assert not launch.survives_lost_workers
    world.backend.lose_worker(launch.attempt_id)
    world.rounds(2)
    world.round(after_s=300)
    assert len(world.backend.launches) == 2


def test_rounds_take_at_most_half_of_a_processor_and_short_ones_delay_no_event(settings):
    settings.CONTROL_PERIOD_S = 2.0
    assert [rest_after(took_s) for took_s in (0.03, 1.5, 30.0)] == [0.03, 1.5, 2.0]


def test_rounds_come_sooner_while_a_gang_leaves_and_take_little_time(world: World, settings: Any) -> None:
    settings.CONTROL_PERIOD_S = 2.0
    assert look_after(0.03, is_leaving=False) == 2.0
    assert [look_after(took_s, is_leaving=True) for took_s in (0.03, 0.1, 1.5)] == [0.5, 1.0, 2.0]
    job = world.job(**LONG)
    world.rounds(3)
    assert (state(job), world.loop.is_leaving) == ("running", False)
    actions.pause_job(job, actor=world.cast.bob)
    world.round()
    assert (state(job), world.loop.is_leaving) == ("stopping", True)
    world.rounds(8)
    assert (state(job), world.loop.is_leaving) == ("paused", False)


def test_a_gang_that_made_its_last_step_is_about_to_leave(world: World) -> None:
    job = world.job(**LONG)
    world.rounds(3)
    Job.objects.filter(pk=job.pk).update(steps_done=7, steps_total=7)
    world.round()
    assert world.loop.is_leaving
