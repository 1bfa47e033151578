# SPDX-License-Identifier: Apache-2.0
"""The policy lab through the API: a day of the platform, or a trace, under other policies."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings

from mlhub.control.models import PolicyReplay, ReplayState, Round
from mlhub.control.policy_lab.history import history_of
from mlhub.control.policy_lab.period import absences
from mlhub.control.policy_lab.simulation import SimulationCancelledError, SimulationFailedError, simulate_case
from mlhub.control.tasks import forget_replayed_jobs, run_replays, sweep_replays
from mlhub.events.models import Event
from mlhub.jobs.models import Job
from mlhub.jobs.states import JobState
from mlhub.tenants.models import Quota
from scheduler.api.snapshot import TenantSnapshot
from scheduler.simulator.reports.comparison import ComparedPolicy
from scheduler.simulator.reports.policy_lab import LabCase
from scheduler.simulator.traces.clusters import uniform_cluster
from scheduler.simulator.traces.trace import Trace, TraceJob
from tests.cast import Cast, make_cast
from tests.control.histories import BEGIN, END, attempt_row, day_of_three, ended_job, node_row, round_row
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db
PATH = "/api/v1/scheduler/replays"
SRTF = [{"name": "srtf", "parameters": {}}]
TRACE = "job,submitted_at_s,n_gpus,duration_s,tenant\na,0,2,100,x\nb,1,2,50,x\nc,2,2,5,y\n"


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def post(cast: Cast, **body: Any) -> Any:
    return cast.client(cast.root).post(PATH, {"policies": SRTF, **body}, format="json")


def post_day(cast: Cast, **body: Any) -> Any:
    return post(cast, since=BEGIN, until=END, **body)


def shown(cast: Cast, replay: str) -> Any:
    return cast.client(cast.root).get(f"{PATH}/{replay}").json()


@pytest.mark.slow
def test_a_day_is_replayed_and_the_error_of_the_simulator_is_said(cast: Cast) -> None:
    jobs = day_of_three(cast)
    asked = post_day(cast, name="last day")
    assert (asked.status_code, asked.json()["state"]) == (202, "queued")
    assert run_replays()
    found = shown(cast, asked.json()["id"])
    assert (found["state"], found["error"], found["progress"]) == ("succeeded", "", None)
    result = found["result"]
    assert result["reproduction"]["n_jobs"] == 3
    assert result["reproduction"]["real_mean_jct_s"] == pytest.approx((2000 + 2190 + 2200) / 3)
    assert abs(result["reproduction"]["mean_error"]) < 0.02
    ran, srtf = result["policies"]
    assert (ran["policy"], srtf["policy"]) == ("fifo", "srtf")
    assert srtf["figures"]["mean_jct_s"] <= ran["figures"]["mean_jct_s"]
    assert [one["organisation"] for one in srtf["figures"]["by_organisation"]] == ["A"]
    answer = cast.client(cast.root).get(f"{PATH}/{found['id']}/jobs.csv")
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [row["job"] for row in rows] == [str(one.id) for one in jobs]
    assert [float(row["real_jct_s"]) for row in rows] == [2000, 2190, 2200]
    assert all(float(row["jct_s of srtf"]) > 0 for row in rows)
    kinds = Event.objects.filter(kind__startswith="scheduler.replay").order_by("id").values_list("kind", flat=True)
    assert list(kinds) == ["scheduler.replay_created", "scheduler.replay_ended"]


@pytest.mark.slow
def test_a_replay_says_over_which_time_its_rounds_reach(cast: Cast) -> None:
    day_of_three(cast)
    asked = post_day(cast)
    assert run_replays()
    found = shown(cast, asked.json()["id"])["result"]
    stored = Round.objects.filter(at__gte=BEGIN, at__lte=END).order_by("at")
    assert found["n_rounds"] == stored.count()
    first, last = stored.first(), stored.last()
    assert [found["rounds_from"], found["rounds_until"]] == [at and at.at.isoformat() for at in (first, last)]


@pytest.mark.slow
def test_what_is_deleted_is_forgotten_by_replays_and_the_sums_stay(cast: Cast) -> None:
    day_of_three(cast)
    asked = post_day(cast)
    assert run_replays()
    before = shown(cast, asked.json()["id"])["result"]
    assert forget_replayed_jobs() == 0
    rows = PolicyReplay.objects.get().job_rows
    gone = rows[0]
    of_organisation = [row["job"] for row in rows if row["organisation"] == gone["organisation"]]
    Job.objects.filter(pk__in=of_organisation).delete()
    assert forget_replayed_jobs() == 1
    assert forget_replayed_jobs() == 0
    text = json.dumps(shown(cast, asked.json()["id"]))
    assert gone["job"] not in text
    assert f'"organisation": "{gone["organisation"]}"' not in text
    sheet = cast.client(cast.root).get(f"{PATH}/{asked.json()['id']}/jobs.csv")
    assert gone["job"] not in b"".join(sheet).decode()
    after = shown(cast, asked.json()["id"])["result"]
    assert after["policies"][0]["figures"]["mean_jct_s"] == before["policies"][0]["figures"]["mean_jct_s"]
    assert len(PolicyReplay.objects.get().job_rows) == len(rows) - len(of_organisation)


def test_replays_are_listed_newest_first_for_administrators_only(cast: Cast) -> None:
    day_of_three(cast)
    first, second = post_day(cast).json()["id"], post_day(cast).json()["id"]
    assert [one["id"] for one in cast.client(cast.root).get(PATH).json()["results"]] == [second, first]
    for user, status in ((cast.alice, 403), (cast.charlie, 403), (None, 401)):
        client = cast.client(user)
        assert client.get(PATH).status_code == status
        assert client.post(PATH, {"policies": SRTF}, format="json").status_code == status
        for path in (f"{PATH}/{first}", f"{PATH}/{first}/jobs.csv"):
            assert client.get(path).status_code == status
        assert client.post(f"{PATH}/{first}/cancel").status_code == status


@pytest.mark.slow
def test_a_trace_is_replayed_on_the_nodes_of_now(cast: Cast) -> None:
    node_row()
    asked = post(cast, trace={"name": "mine.csv", "text": TRACE})
    assert run_replays()
    found = shown(cast, asked.json()["id"])
    result = found["result"]
    assert (result["reproduction"], result["real"], result["n_jobs"]) == (None, None, 3)
    assert {one["organisation"] for one in result["policies"][1]["figures"]["by_organisation"]} == {"x", "y"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("job,submitted_at_s,n_gpus,duration_s\na,0,two,5\n", "mine.csv, row 2: n_gpus is 'two'"),
        ("job,submitted_at_s,n_gpus,duration_s\na,0,1,5\nb,0,64,5\n", "mine.csv, row 3: job 'b' needs 64 GPUs"),
        ("job,submitted_at_s,n_gpus\na,0,1\n", "mine.csv, row 1: the column 'duration_s' is missing"),
        ('{"jobs": [{"job": "a", "submitted_at_s": 0, "n_gpus": 1}]}', "row 1: the job has no 'duration_s'"),
        ("nonsense", "the header is of no known format"),
    ],
)
def test_a_broken_trace_is_refused_with_row_and_field(cast: Cast, text: str, expected: str) -> None:
    node_row()
    answer = post(cast, trace={"name": "mine.csv", "text": text})
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["field"] == "trace.text"
    assert expected in error["message"]
    assert not PolicyReplay.objects.exists()


def test_a_period_that_cannot_be_replayed_is_refused(cast: Cast) -> None:
    day_of_three(cast)
    empty = post(cast, since=BEGIN - timedelta(days=9), until=BEGIN - timedelta(days=8))
    assert (empty.status_code, empty.json()["errors"][0]["field"]) == (422, "since")
    assert "No job was submitted" in empty.json()["detail"]
    backwards = post(cast, since=END, until=BEGIN)
    assert (backwards.status_code, backwards.json()["errors"][0]["field"]) == (422, "until")
    both = post_day(cast, trace={"text": TRACE})
    assert (both.status_code, both.json()["errors"][0]["field"]) == (422, "trace")
    unknown = post_day(cast, policies=[*SRTF, {"name": "magic"}])
    assert (unknown.status_code, unknown.json()["errors"][0]["field"]) == (422, "policies.1.policy")


def test_a_period_in_which_no_job_trained_fails_with_what_to_do(cast: Cast) -> None:
    node_row()
    cancelled = job(cast.project_a, cast.bob)
    changes = {"submitted_at": BEGIN + timedelta(hours=1), "finished_at": BEGIN + timedelta(hours=2)}
    Job.objects.filter(pk=cancelled.pk).update(state=JobState.CANCELLED, **changes)
    asked = post_day(cast).json()["id"]
    run_replays()
    found = shown(cast, asked)
    assert found["state"] == "failed"
    assert "none of them trained" in found["error"]
    assert "upload a trace" in found["error"]


def test_jobs_that_cannot_be_simulated_are_left_out_and_counted(cast: Cast) -> None:
    day_of_three(cast)
    waits = job(cast.project_a, cast.bob, steps_total=0, is_tried=False)
    large = ended_job(cast, "large", submitted_s=30, began_s=3000, ended_s=3010, n_workers=4)
    Job.objects.filter(pk=waits.pk).update(submitted_at=BEGIN + timedelta(hours=1))
    history = history_of(since=BEGIN, until=END)
    assert str(large.id) not in {one.job.id for one in history.jobs}
    assert history.left_out == {"unknown_length": 1, "too_large": 1}


def test_a_job_from_before_the_period_goes_on_where_it_was(cast: Cast) -> None:
    day_of_three(cast)
    ended_job(cast, "later", submitted_s=600, began_s=2220, ended_s=2230)
    since = BEGIN + timedelta(seconds=500)
    history = history_of(since=since, until=END)
    by_name = {one.job.name: one for one in history.jobs}
    assert (by_name["long"].is_counted, by_name["long"].at_s) == (False, since.timestamp())
    assert by_name["long"].job.steps_done == pytest.approx(500)
    assert [one.job.name for one in history.jobs if one.is_counted] == ["later"]


def test_nodes_and_quotas_are_those_of_the_period(cast: Cast) -> None:
    day_of_three(cast)
    tenant = TenantSnapshot(str(cast.a.id), "A", max_gpus=2)
    round_row(0.5, nodes=("n0", "n1"), tenants=(tenant,))
    round_row(1000, nodes=("n0",), tenants=(tenant,))
    Quota.objects.filter(organisation=cast.a).update(max_gpus=64)
    history = history_of(since=BEGIN, until=END)
    assert [node.name for node in history.cluster.nodes] == ["n0", "n1"]
    assert [(f.node, f.kind) for f in history.period.failures] == [("n1", "lost"), ("n1", "back")]
    assert [t.max_gpus for t in history.cluster.tenants] == [2]


def test_a_node_is_away_from_the_round_that_missed_it_to_the_one_that_saw_it_again() -> None:
    seen = [(5.0, {"a"}), (20.0, {"a", "b"}), (30.0, {"b"})]
    found = [(f.at_s, f.node, str(f.kind)) for f in absences(seen, ["a", "b"], since_s=10.0, until_s=40.0)]
    assert found == [(10.0, "b", "lost"), (20.0, "b", "back"), (30.0, "a", "lost"), (40.0, "a", "back")]


def test_a_waiting_replay_is_cancelled_at_once_and_an_ended_one_no_more(cast: Cast) -> None:
    day_of_three(cast)
    replay = post_day(cast).json()["id"]
    client = cast.client(cast.root)
    assert client.post(f"{PATH}/{replay}/cancel").json()["state"] == "cancelled"
    assert client.post(f"{PATH}/{replay}/cancel").status_code == 409
    assert not run_replays()


def test_a_running_replay_that_is_cancelled_ends(cast: Cast) -> None:
    day_of_three(cast)
    replay = post_day(cast).json()["id"]
    PolicyReplay.objects.filter(pk=replay).update(cancel_asked_at=END)  # asked for as soon as it runs
    run_replays()
    assert shown(cast, replay)["state"] == "cancelled"


def test_what_a_dead_worker_left_is_reported_as_failed(cast: Cast) -> None:
    replay = PolicyReplay.objects.create(trace=TRACE, state=ReplayState.RUNNING)
    sweep_replays()
    found = shown(cast, str(replay.id))
    assert found["state"] == "failed"
    assert "start it again" in found["error"]


def case(n_jobs: int) -> LabCase:
    jobs = tuple(TraceJob(str(i), float(i), 1, 5.0) for i in range(n_jobs))
    cluster = uniform_cluster(n_nodes=1, n_gpus=2)
    return LabCase(cluster, (ComparedPolicy("fifo", "fifo"),), trace=Trace("trace", "mlhub", jobs))


def no_progress(*_: object) -> None:
    """There is no reader."""


@pytest.mark.slow
def test_a_simulation_has_bounds_on_time_and_memory_and_can_be_cancelled() -> None:
    given, limit_s = case(10), settings.REPLAY_LIMIT_S
    with pytest.raises(SimulationFailedError, match=r"longer than 0\.01 s"):
        simulate_case(given, limit_s=0.01, on_progress=no_progress, is_cancelled=lambda: False)
    with pytest.raises(SimulationCancelledError):
        simulate_case(given, limit_s=limit_s, on_progress=no_progress, is_cancelled=lambda: True)
    large, most = case(50_000), 2**20
    with pytest.raises(SimulationFailedError, match="memory"):
        simulate_case(large, limit_s=limit_s, on_progress=no_progress, is_cancelled=lambda: False, memory_bytes=most)


def test_two_attempts_at_different_sizes_are_both_learnt_from(cast: Cast) -> None:
    day_of_three(cast)
    resized = ended_job(cast, "resized", submitted_s=3000, began_s=3000, ended_s=3100)
    attempt_row(resized, began_s=3100, ended_s=3200, n_workers=1, number=2, first_step=0)
    (found,) = (one for one in history_of(since=BEGIN, until=END).jobs if one.job.id == str(resized.id))
    assert set(found.measured) == {(2, "gpu"), (1, "gpu")}
