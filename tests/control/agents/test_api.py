# SPDX-License-Identifier: Apache-2.0
"""Agents by the API: who makes and removes them, what each may read with its token, and what it may not."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from mlhub._version import __version__
from mlhub.backends.agents.backend import AgentsBackend
from mlhub.backends.agents.messages import GRACE_PART, LEASE_PART, AgentReport, GangReport, PodEnd, PodReport
from mlhub.backends.protocol import BackendUnavailableError, GangPhase, GpuStatus, LaunchError, NodeStatus
from mlhub.clusters.models import Agent, AgentGang
from mlhub.control.agents.orders import PYTHON
from mlhub.control.agents.rows import AgentRows
from mlhub.control.models import NodeExclusion
from mlhub.events.models import Event
from mlhub.wire.exits import Cause
from mlhub.wire.launch import LaunchSpec, PodRole
from tests.backends.specs import gang
from tests.cast import Cast, make_cast

pytestmark = pytest.mark.django_db
NODE = NodeStatus("", "rack-1", "cpu-slot", 2, 4.0, 2**33, 1e9, 1e10)
REPORT = AgentReport(__version__, PYTHON, 0.0, "10.0.0.1", NODE, instance="first")
AGENTS, SYNC = "/api/v1/agents", "/api/v1/ingest/agents/sync"


@pytest.fixture
def cast(settings: Any) -> Cast:
    settings.BACKEND = "agents"
    return make_cast()


class Machine:
    """An agent as the API sees it, without a machine."""

    def __init__(self, cast: Cast, name: str) -> None:
        self.name = name
        self.token = cast.client(cast.root).post(AGENTS, {"name": name}).json()["token"]

    def sync(self, *gangs: GangReport, **changes: Any) -> Any:
        report = replace(REPORT, now=timezone.now().timestamp(), gangs=gangs, **changes)
        return self.post(report.to_json())

    def post(self, body: Any) -> Any:
        return APIClient(headers={"Authorization": f"Bearer {self.token}"}).post(SYNC, body)

    def orders(self, *gangs: GangReport, **changes: Any) -> dict[str, Any]:
        """By attempt."""
        return {order["attempt_id"]: order for order in self.sync(*gangs, **changes).json()["gangs"]}


@pytest.fixture
def both(cast: Cast) -> tuple[Machine, Machine]:
    found = Machine(cast, "node-1"), Machine(cast, "node-2")
    for machine in found:
        assert machine.sync().status_code == 200
    return found


def backend(**given: Any) -> AgentsBackend:
    return AgentsBackend(AgentRows(), lost_after_s=60.0, **{"reserved_within_s": 0.0, **given})


def added(spec: LaunchSpec, *machines: Machine) -> None:
    """Its agents are to reserve for it, and do."""
    AgentRows().add([spec])
    for machine in machines:
        machine.sync(GangReport(spec.attempt_id, ports=(4001, 4002)))


def test_administrators_alone_make_agents(cast: Cast) -> None:
    for user in (cast.alice, cast.bob, cast.charlie):
        assert cast.client(user).post(AGENTS, {"name": "lab-1"}).status_code == 403
        assert cast.client(user).get(AGENTS).status_code == 403
    assert cast.client(None).get(AGENTS).status_code in (401, 403)
    made = cast.client(cast.root).post(AGENTS, {"name": "lab-1"})
    assert made.status_code == 201
    token = made.json()["token"]
    listed = cast.client(cast.root).get(AGENTS)
    assert [(row["name"], row["made_by"], row["seen_at"]) for row in listed.json()["results"]] == [
        ("lab-1", "root", None)
    ]
    assert token not in listed.content.decode()
    assert token not in str(Agent.objects.values())
    event = Event.objects.get(kind="agent.added")
    assert (event.actor, event.facts["name"], event.organisation) == (cast.root, "lab-1", None)
    assert cast.client(cast.charlie).delete(f"{AGENTS}/lab-1").status_code == 403
    assert cast.client(cast.root).delete(f"{AGENTS}/lab-1").status_code == 204
    assert cast.client(cast.root).delete(f"{AGENTS}/lab-1").status_code == 404
    assert Event.objects.filter(kind="agent.removed", actor=cast.root).exists()


@pytest.mark.parametrize("name", ["", "a b", "-x", "../etc", "ä", "x" * 64])
def test_a_name_that_no_node_can_have_is_refused_with_the_field(cast: Cast, name: str) -> None:
    answer = cast.client(cast.root).post(AGENTS, {"name": name})
    assert answer.status_code in (400, 422)
    assert "name" in answer.content.decode()


def test_with_another_backend_there_are_no_agents_and_the_answer_says_what_to_set(cast: Cast, settings: Any) -> None:
    settings.BACKEND = "local"
    answer = cast.client(cast.root).post(AGENTS, {"name": "lab-1"})
    assert answer.status_code == 422
    assert "MLHUB_BACKEND=agents" in answer.content.decode()


def test_a_token_opens_the_orders_of_its_agent_and_nothing_else(cast: Cast, both: Any) -> None:
    first, second = both
    spec = replace(gang(), secrets={"KEY": "sesame"})  # on node-1
    added(spec, first)
    AgentRows().release(spec.attempt_id, {"master": "127.0.0.1:4001", "servers": [], "workers": ["127.0.0.1:4002"]})
    mine, other = first.sync(), second.sync()
    assert mine.json()["gangs"][0]["secrets"]["secrets"] == {"KEY": "sesame"}
    assert spec.attempt_id not in other.content.decode()
    assert "sesame" not in other.content.decode()
    second.sync(GangReport(spec.attempt_id, problem="forged", is_final=True, has_launched=True))
    assert not AgentGang.objects.get(pk=spec.attempt_id).shares.get().problem
    for token in ("", "mlg_node-1_" + "0" * 64, second.token + "x", first.token.upper()):
        headers = {"Authorization": f"Bearer {token}"}
        assert APIClient(headers=headers).post(SYNC, REPORT.to_json()).status_code == 401
    headers = {"Authorization": f"Bearer {first.token}"}
    for path in ("/api/v1/cluster", "/api/v1/jobs", AGENTS, "/api/v1/auth/me"):
        assert APIClient(headers=headers).get(path).status_code in (401, 403)
    for user in (cast.charlie, cast.alice, cast.root):
        assert cast.client(user).post(SYNC, REPORT.to_json()).status_code == 401


def test_a_new_token_takes_the_place_of_the_old_one(cast: Cast) -> None:
    old = Machine(cast, "lab-1")
    assert old.sync().status_code == 200
    new = Machine(cast, "lab-1")
    assert old.sync().status_code == 401
    assert new.sync().status_code == 200
    assert Agent.objects.count() == 1
    assert Event.objects.filter(kind="agent.token_replaced").count() == 1
    cast.client(cast.root).delete(f"{AGENTS}/lab-1")
    assert new.sync().status_code == 401


def test_the_platforms_own_agent_is_not_removed_and_keeps_its_token(cast: Cast) -> None:
    own = Machine(cast, "lab-1")
    Agent.objects.update(is_own=True)
    answer = cast.client(cast.root).delete(f"{AGENTS}/lab-1")
    assert answer.status_code == 409
    assert "mlhub node cordon lab-1" in answer.content.decode()
    assert cast.client(cast.root).post(AGENTS, {"name": "lab-1"}).json()["code"] == "own_agent"
    assert own.sync().status_code == 200


def test_a_machine_that_was_removed_joins_again_without_its_exclusion(cast: Cast) -> None:
    until = timezone.now() + timedelta(minutes=10)
    for name in ("lab-1", "lab-2"):
        Machine(cast, name)
        NodeExclusion.objects.create(node=name, since=timezone.now(), until=until, n_times=2)
    assert cast.client(cast.root).delete(f"{AGENTS}/lab-1").status_code == 204
    kept = NodeExclusion.objects.filter(until__gt=timezone.now()).values_list("node", "n_times")
    assert list(kept) == [("lab-2", 2)]


def test_who_removes_a_machine_can_read_until_when_its_pods_run_on(cast: Cast, settings: Any) -> None:
    settings.AGENT_LOST_S = 90.0
    assert cast.client(cast.root).get(AGENTS).json()["ends_within_s"] == pytest.approx((LEASE_PART + GRACE_PART) * 90)


def test_a_machine_that_is_added_takes_the_token_of_no_other_one(cast: Cast) -> None:
    present = Machine(cast, "lab-1")
    refused = cast.client(cast.root).post(AGENTS, {"name": "lab-1", "must_be_new": True})
    assert (refused.status_code, refused.json()["code"]) == (409, "agent_exists")
    assert present.sync().status_code == 200
    assert cast.client(cast.root).post(AGENTS, {"name": "lab-2", "must_be_new": True}).status_code == 201


def test_of_two_agents_with_one_token_the_second_is_refused_until_the_first_is_lost(cast: Cast) -> None:
    machine = Machine(cast, "lab-1")
    assert machine.sync(instance="first").status_code == 200
    refused = machine.sync(instance="second", address="10.0.0.9")
    assert (refused.status_code, refused.json()["code"]) == (409, "agent_runs_elsewhere")
    assert "10.0.0.1" in refused.json()["detail"]
    assert "60 s later" in refused.json()["remedy"]
    assert machine.sync(instance="first").status_code == 200  # also started again
    Agent.objects.update(seen_at=timezone.now() - timedelta(seconds=61))
    assert machine.sync(instance="second").status_code == 200
    assert machine.sync(instance="first").status_code == 409
    again = Machine(cast, "lab-1")  # a new token is anybody's who has it
    assert again.sync(instance="third").status_code == 200


@pytest.mark.parametrize(
    ("seen_s_ago", "made_s_ago", "problem", "state"),
    [
        (None, 1, "", "expected"),
        (5, 1, "", "expected"),  # by an earlier token
        (1, 5, "", "connected"),
        (1, 5, "Its folder is not there.", "closed"),
        (20, 500, "Its folder is not there.", "silent"),
        (70, 500, "", "lost"),
    ],
)
def test_how_an_agent_is_follows_from_its_last_report(
    cast: Cast, seen_s_ago: float | None, made_s_ago: float, problem: str, state: str
) -> None:
    Machine(cast, "lab-1")
    now = timezone.now()
    seen_at = None if seen_s_ago is None else now - timedelta(seconds=seen_s_ago)
    Agent.objects.update(token_made_at=now - timedelta(seconds=made_s_ago), seen_at=seen_at, problem=problem)
    listed = cast.client(cast.root).get(AGENTS).json()
    assert [(row["state"], row["problem"]) for row in listed["results"]] == [(state, problem)]
    assert (listed["version"], round(listed["takeover_s"])) == (__version__, 37)


def test_secrets_are_encrypted_and_gone_once_every_pod_has_launched(both: Any) -> None:
    first, second = both
    spec = replace(gang(workers=2), secrets={"KEY": "sesame"})
    added(spec, first, second)
    AgentRows().release(spec.attempt_id, {"master": "10.0.0.1:1", "servers": [], "workers": []})
    row = AgentGang.objects.get(pk=spec.attempt_id)
    assert b"sesame" not in bytes(row.secrets)
    assert "sesame" not in row.spec
    assert "attempt-token" not in row.spec
    first.sync(GangReport(spec.attempt_id, has_launched=True))
    assert bytes(AgentGang.objects.get(pk=spec.attempt_id).secrets)
    assert first.orders()[spec.attempt_id]["secrets"] == {}  # it has them already
    second.sync(GangReport(spec.attempt_id, has_launched=True))
    assert not bytes(AgentGang.objects.get(pk=spec.attempt_id).secrets)


def test_no_agent_learns_addresses_before_all_have_reserved(both: Any) -> None:
    first, second = both
    spec = gang(workers=2)
    added(spec, first)
    order = first.orders(GangReport(spec.attempt_id, ports=(4001, 4002)))[spec.attempt_id]
    assert order["addresses"] is None
    assert order["secrets"] == {}
    with pytest.raises(BackendUnavailableError, match="did not answer within 0 s: node-2"):
        backend().launch(spec)
    assert first.orders() == {}  # nothing is left behind
    assert second.orders() == {}
    added(spec, first, second)
    backend().launch(spec)
    addresses = first.orders()[spec.attempt_id]["addresses"]
    assert addresses["master"] == "10.0.0.1:4001"
    assert addresses["workers"] == ["10.0.0.1:4002", "10.0.0.1:4001"]
    assert second.orders()[spec.attempt_id]["addresses"] == addresses


@pytest.mark.parametrize(("is_final", "error"), [(True, LaunchError), (False, BackendUnavailableError)])
def test_a_gang_that_one_machine_refuses_starts_on_none(both: Any, is_final: bool, error: type[Exception]) -> None:
    first, second = both
    spec = gang(workers=2)
    added(spec, first)
    second.sync(GangReport(spec.attempt_id, problem="GPU 0 is in use.", is_final=is_final))
    with pytest.raises(error, match="node-2: GPU 0 is in use"):
        backend().launch(spec)
    assert first.orders() == {}


def test_how_a_pod_ended_is_kept_and_its_time_is_by_the_platforms_clock(both: Any) -> None:
    first, _ = both
    spec = gang()
    added(spec, first)
    backend().launch(spec)
    slow = timezone.now().timestamp() - 3600  # an hour behind
    ended = PodReport(PodRole.WORKER, 0, True, PodEnd(0, "", "", slow, "the last line\0\udcff"))
    report = replace(REPORT, now=slow, gangs=(GangReport(spec.attempt_id, has_launched=True, pods=(ended,)),))
    first.post(report.to_json())
    status = backend().observe()[0]
    assert status.phase is GangPhase.SUCCEEDED
    assert status.ended_at is not None
    assert abs((timezone.now() - status.ended_at).total_seconds()) < 600
    assert list(backend().logs(spec.attempt_id, role=PodRole.WORKER, index=0)) == [
        "the last line\N{REPLACEMENT CHARACTER}?"
    ]
    alive = replace(ended, end=None)
    first.sync(GangReport(spec.attempt_id, has_launched=True, pods=(alive,)))
    assert backend().observe()[0] == status


@pytest.mark.parametrize(("was_asked", "phase"), [(True, GangPhase.STOPPED), (False, GangPhase.FAILED)])
def test_pods_that_their_machine_had_save_while_the_platform_was_away_were_preempted(
    both: Any, was_asked: bool, phase: GangPhase
) -> None:
    first, second = both
    spec = gang(workers=2)
    added(spec, first, second)
    backend().launch(spec)

    def report(machine: Machine, index: int, code: int | None) -> None:
        now = timezone.now().timestamp()
        end = None if code is None else PodEnd(code, "", "", now, was_asked=was_asked)
        machine.sync(
            GangReport(spec.attempt_id, has_launched=True, pods=(PodReport(PodRole.WORKER, index, True, end),))
        )

    report(first, 0, 75)
    report(second, 1, None)
    assert backend().observe()[0].phase is GangPhase.STOPPING
    assert second.orders()[spec.attempt_id]["stop"]["remaining_s"] > 0  # the rest is to save as well
    report(second, 1, 75)
    assert backend().observe()[0].phase is phase


def test_a_node_whose_agent_is_silent_is_not_ready_and_then_lost_with_its_pods(both: Any) -> None:
    first, second = both
    spec = gang(workers=2)
    added(spec, first, second)
    began = timezone.now()
    late = [began]
    watching = backend(now=lambda: late[0])
    watching.launch(spec)
    for machine, index in ((first, 0), (second, 1)):
        machine.sync(GangReport(spec.attempt_id, has_launched=True, pods=(PodReport(PodRole.WORKER, index, True),)))
    assert watching.observe()[0].phase is GangPhase.RUNNING
    late[0] = timezone.now() + timedelta(seconds=30)
    seen_at = Agent.objects.get(name="node-1").seen_at
    assert seen_at is not None
    silent = watching.inventory()
    assert [node.is_ready for node in silent] == [False] * 2
    assert f"has not reported since {seen_at:%Y-%m-%d %H:%M:%S} UTC, and gets no new jobs" in silent[0].message
    assert silent == watching.inventory()  # what it says does not change while nothing else does
    with pytest.raises(BackendUnavailableError, match="gets no new jobs"):
        watching.launch(gang())
    assert watching.observe()[0].phase is GangPhase.RUNNING
    late[0] = timezone.now() + timedelta(seconds=70)
    assert [node.is_ready for node in watching.inventory()] == [False] * 2
    status = watching.observe()[0]
    assert (status.phase, status.cause) == (GangPhase.FAILED, Cause.NODE_LOST)
    assert watching.observe()[0] == status
    with pytest.raises(LaunchError) as refused:
        watching.launch(gang())
    assert refused.value.cause is Cause.NODE_LOST
    # one that starts now cannot know how long it was away itself
    assert [node.is_ready for node in backend(now=lambda: late[0]).inventory()] == [True] * 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"version": "0.0.1"}, "pip install '.[agent]' in its checkout"),
        ({"python": "3.9, x86_64"}, "Python 3.9"),
        ({"problem": "The folder is not there."}, "The folder is not there."),
    ],
)
def test_a_machine_that_does_not_fit_gets_no_pods_and_says_why(both: Any, changes: Any, said: str) -> None:
    first, _ = both
    assert first.sync(**changes).status_code == 200
    node = next(node for node in backend().inventory() if node.name == "node-1")
    assert not node.is_ready
    assert said in node.message
    with pytest.raises(BackendUnavailableError):
        backend().launch(gang())
    assert first.sync(protocol=99).status_code == 409


@pytest.mark.parametrize(
    "change",
    [
        {"node": {}},
        {"node": {**asdict(NODE), "n_slots": 0}},
        {"node": {**asdict(NODE), "cpus": "many"}},
        {"node": {**asdict(NODE), "memory_bytes": float("1e30")}},
        {"gangs": [{"attempt_id": "x"}]},
        {"gangs": [asdict(GangReport("x", ports=(70000,)))]},
        {"gangs": [asdict(GangReport("x", cause="no_such_cause"))]},
        {"unknown": 1},
    ],
)
def test_what_is_no_report_is_refused_and_changes_nothing(both: Any, change: Any) -> None:
    first, _ = both
    before = Agent.objects.values().get(name="node-1")
    answer = first.post(json.loads(json.dumps(REPORT.to_json())) | change)
    assert answer.status_code in (400, 422), answer.content
    assert Agent.objects.values().get(name="node-1") == before


def test_a_gpu_that_its_agent_offers_to_no_job_is_quarantined(both: Any) -> None:
    first, _ = both
    gpu = GpuStatus(
        0, "GPU-1", "H100", 2**36, 2**30, problem="Processes that its last job did not find there run on it."
    )
    first.sync(node=replace(NODE, gpus=(gpu,)))
    seeing = backend()
    found = seeing.quarantined()
    assert [(item.name, item.reason) for item in found] == [("node-1/0", gpu.problem)]
    assert seeing.quarantined() == found


def test_orders_name_the_folder_that_all_machines_share_and_the_marker_in_it(both: Any, settings: Any) -> None:
    first, _ = both
    folder = first.sync().json()["checkpoints"]
    assert folder["path"] == str(settings.CHECKPOINT_ROOT)
    assert (Path(folder["path"]) / folder["marker"]).read_text() == folder["content"]
