# SPDX-License-Identifier: Apache-2.0
"""Pods report: once, in order, for their own attempt and only while it lives."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from mlhub.events.models import Event
from mlhub.jobs import attempts
from mlhub.jobs.models import Attempt, Job
from mlhub.metrics import actions
from mlhub.metrics.api import ingest
from mlhub.metrics.measurements.stalls import Waited, waited_for
from mlhub.metrics.models import LogLine, MetricPoint, SpeedSample
from mlhub.wire.exits import Cause
from tests.cast import Cast, make_cast
from tests.datasets.files import csv
from tests.datasets.test_uploads import upload
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def attempt(cast: Cast) -> Attempt:
    return opened(job(cast.project_a, cast.bob))


def opened(of: Job) -> Attempt:
    of.refresh_from_db()
    found = attempts.open_attempt(
        of,
        mode="all_reduce",
        n_workers=2,
        n_servers=0,
        held=[attempts.Held("n0", (0, 1), 0)],
        predicted_step_s=0.1,
        reason="fits",
        now=timezone.now(),
    )
    assert found is not None
    return found


def post(
    attempt: Attempt, first: int, *lines: Any, stream: str = "reports", token: str | None = None, **who: Any
) -> Any:
    body = {"version": 1, "role": "worker", "index": 0, "stream": stream, "first": first, "lines": list(lines)} | who
    client = APIClient(headers={"Authorization": f"Bearer {token or attempts.token_of(attempt.id)}"})
    return client.post(f"/api/v1/ingest/attempts/{attempt.id}/reports", body)


def metric(step: int, **values: float) -> dict[str, Any]:
    named = {f"train/{key}": value for key, value in values.items()}
    return {"type": "metrics", "step": step, "epoch": step / 10, "at": 1.7e9 + step, "values": named}


def progress(done: int, step_s: float = 0.1) -> dict[str, Any]:
    return {
        "type": "progress", "at": 1.7e9, "steps_done": done, "steps_total": 1000, "epoch": done / 10, "n_workers": 2,
        "n_servers": 0, "batch_size": 32, "step_s": step_s, "compute_s": step_s / 2, "sync_s": step_s / 2, "input_s": 0,
    }  # fmt: skip


def test_lines_that_come_twice_are_stored_once(attempt: Attempt) -> None:
    assert post(attempt, 0, metric(1, loss=3), metric(2, loss=2)).json() == {"next": 2}
    assert post(attempt, 1, metric(2, loss=2), metric(3, loss=1)).json() == {"next": 3}
    assert post(attempt, 0, metric(1, loss=99)).json() == {"next": 3}
    assert list(MetricPoint.objects.order_by("step").values_list("step", "value")) == [(1, 3.0), (2, 2.0), (3, 1.0)]


def test_a_gap_is_answered_with_the_line_that_is_wanted(attempt: Attempt) -> None:
    answer = post(attempt, 5, "late", stream="log")
    assert (answer.status_code, answer.json()) == (409, {"next": 0})
    assert not LogLine.objects.exists()


def test_pods_have_streams_of_their_own(attempt: Attempt) -> None:
    post(attempt, 0, "from 0", stream="log")
    post(attempt, 0, "from 1", stream="log", index=1)
    assert sorted(LogLine.objects.values_list("index", "number", "text")) == [(0, 0, "from 0"), (1, 0, "from 1")]
    assert post(attempt, 0, "from 2", stream="log", index=2).status_code == 422


def test_seq_rises_over_all_streams_of_a_job(attempt: Attempt) -> None:
    post(attempt, 0, "a", "b", stream="log")
    post(attempt, 0, metric(1, loss=1))
    post(attempt, 2, "c", stream="log")
    seqs = [*LogLine.objects.values_list("seq", flat=True), *MetricPoint.objects.values_list("seq", flat=True)]
    assert sorted(seqs) == [1, 2, 3, 4]


def test_a_wrong_token_is_401_and_an_ended_attempt_410(attempt: Attempt, cast: Cast) -> None:
    other = opened(job(cast.project_b, cast.charlie))
    assert post(attempt, 0, "x", stream="log", token=attempts.token_of(other.id)).status_code == 401
    assert post(attempt, 0, "x", stream="log", token="mla_nonsense").status_code == 401
    attempts.close_stopped(attempt, cause=None, message="", now=timezone.now())
    answer = post(attempt, 0, "x", stream="log")
    assert (answer.status_code, answer.json()["code"]) == (410, "fenced")
    assert not LogLine.objects.exists()


@pytest.mark.parametrize(
    "line",
    [
        "no object",
        {"type": "gossip"},
        {"type": "metrics", "step": -1, "epoch": 0, "at": 0, "values": {}},
        {"type": "metrics", "step": 1, "epoch": 0, "at": 0, "values": {"bad key!": 1}},
        {"type": "metrics", "step": 1, "epoch": 0, "at": 0, "values": {"loss": "low"}},
        {"type": "failure", "at": 0, "cause": "bad luck", "message": ""},
        {**progress(5), "steps_done": 1.5},
        {**progress(5), "surprise": 1},
    ],
)
def test_a_report_that_is_none_is_refused_with_its_line_and_nothing_of_the_batch_is_stored(
    attempt: Attempt, line: Any
) -> None:
    answer = post(attempt, 0, metric(1, loss=1), line)
    assert answer.status_code == 422, answer.content
    assert answer.json()["errors"][0]["field"].startswith("lines.1")
    assert not MetricPoint.objects.exists()
    assert post(attempt, 0, metric(1, loss=1)).json() == {"next": 1}


def test_only_worker_0_speaks_for_the_gang(attempt: Attempt) -> None:
    assert post(attempt, 0, metric(1, loss=1), index=1).status_code == 422
    failed = {"type": "failure", "at": 0, "cause": "user_code", "message": "ValueError: no", "traceback": "Trace"}
    assert post(attempt, 0, failed, index=1).status_code == 200


def test_the_first_cause_that_is_no_mere_consequence_counts(attempt: Attempt) -> None:
    def failed(cause: str, index: int) -> None:
        report = {"type": "failure", "at": 0, "cause": cause, "message": cause, "traceback": ""}
        assert post(attempt, 0, report, index=index).status_code == 200

    failed("peer_lost", 0)
    failed("user_code", 1)
    attempt.refresh_from_db()
    assert (attempt.cause, attempt.message) == ("user_code", "worker 1: user_code")


def test_of_two_pods_that_fail_at_once_the_one_whose_fault_it_is_counts(
    attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Worker 1 lost worker 0, and its request was under way when that of worker 0 was stored."""
    lock, is_first = actions._locked_cursor, iter([True])
    own = {"type": "failure", "at": 0, "cause": "io_error", "message": "No space left on device", "traceback": "T"}
    lost = {"type": "failure", "at": 0, "cause": "peer_lost", "message": "Connection closed", "traceback": ""}

    def after_the_other(found: Attempt) -> Any:
        if next(is_first, False):
            assert post(attempt, 0, own, index=0).status_code == 200
        return lock(found)

    monkeypatch.setattr(actions, "_locked_cursor", after_the_other)
    assert post(attempt, 0, lost, index=1).status_code == 200
    attempt.refresh_from_db()
    assert (attempt.cause, attempt.message) == ("io_error", "worker 0: No space left on device")


def test_an_attempt_that_failed_while_it_stopped_says_what_the_pod_reported(cast: Cast, attempt: Attempt) -> None:
    message = "No space left on device"
    post(attempt, 0, {"type": "failure", "at": 0, "cause": "io_error", "message": message, "traceback": "T"})
    Job.objects.filter(pk=attempt.job_id).update(state="stopping")
    attempts.close_stopped(
        attempt, cause=Cause.IO_ERROR, message="worker 0 on n1 ended with status 71.", now=timezone.now()
    )
    shown = cast.client(cast.bob).get(f"/api/v1/jobs/{attempt.job_id}").json()["attempts"][0]
    assert (shown["outcome"], shown["cause"], shown["message"]) == ("stopped", "io_error", f"worker 0: {message}")


def test_progress_moves_the_job_and_teaches_the_speed(attempt: Attempt) -> None:
    post(attempt, 0, {"type": "phase", "at": 0, "phase": "training", "since_start_s": 3, "detail": {"step": 0}})
    post(attempt, 1, progress(10, step_s=9.0), progress(110, step_s=0.2), progress(210, step_s=0.1))
    attempt.job.refresh_from_db()
    attempt.refresh_from_db()
    assert (attempt.job.steps_done, attempt.job.steps_total) == (210, 1000)
    assert attempt.job.started_at is not None
    assert attempt.training_at is not None
    sample = SpeedSample.objects.get()
    assert (sample.n_steps, sample.step_s) == (200, pytest.approx(0.15))  # the warm-up of 9 s counts for nothing
    assert sample.compute_s + sample.sync_s == pytest.approx(sample.step_s)


@pytest.mark.parametrize(
    ("strategy", "step_s"),
    [
        ({}, 0.1),
        ({"name": "bsp"}, 0.1),
        ({"name": "asp"}, 0.05),
        ({"name": "ssp", "staleness": 3}, 0.05),
        ({"name": "softsync", "group": 2}, 0.1),
    ],
)
def test_a_step_is_the_whole_gang_s_also_where_workers_go_at_their_own_pace(
    cast: Cast, strategy: dict[str, Any], step_s: float
) -> None:
    attempt = opened(job(cast.project_a, cast.bob, strategy=strategy))
    for number, done in enumerate((10, 20, 30)):
        assert post(attempt, number, progress(done)).status_code == 200
    sample = SpeedSample.objects.get(attempt=attempt)
    attempt.refresh_from_db()
    attempt.job.refresh_from_db()
    assert [sample.step_s, attempt.measured_step_s, attempt.job.step_s] == [pytest.approx(step_s)] * 3
    assert sample.compute_s + sample.sync_s + sample.input_s <= sample.step_s * 1.0001


def test_an_artifact_is_kept_once_under_its_hash_and_refused_under_another(attempt: Attempt) -> None:
    client = APIClient(headers={"Authorization": f"Bearer {attempts.token_of(attempt.id)}"})
    content = b"weights" * 1000
    sha256 = hashlib.sha256(content).hexdigest()
    path = f"/api/v1/ingest/attempts/{attempt.id}/artifacts/weights.safetensors"

    def put(name: str = path, sha256: str = sha256) -> int:
        headers = {"X-Content-SHA256": sha256}
        return client.put(name, content, content_type="application/octet-stream", headers=headers).status_code

    assert put() == 201
    assert put() == 200
    assert put(sha256="0" * 64) == 422
    assert put(path.replace("weights.safetensors", "passwd")) == 422
    assert attempt.artifacts.get().blob_id == sha256


def test_a_gang_that_is_done_leaves_a_model_version_with_its_lineage(attempt: Attempt) -> None:
    client = APIClient(headers={"Authorization": f"Bearer {attempts.token_of(attempt.id)}"})
    for name, content in (("weights.safetensors", b"weights"), ("metadata.json", b'{"steps": 1000}')):
        headers = {"X-Content-SHA256": hashlib.sha256(content).hexdigest()}
        path = f"/api/v1/ingest/attempts/{attempt.id}/artifacts/{name}"
        client.put(path, content, content_type="application/octet-stream", headers=headers)
    post(attempt, 0, {"type": "result", "at": 0, "steps": 1000, "metrics": {"eval/accuracy": 0.9}, "artifacts": {}})
    attempt.refresh_from_db()
    attempts.close_succeeded(attempt, now=timezone.now())
    done = Job.objects.select_related("result_version").get(pk=attempt.job_id)
    assert done.state == "succeeded"
    assert done.result_metrics == {"eval/accuracy": 0.9}
    assert done.result_version.job_id == done.id
    assert done.result_version.metadata == {"steps": 1000}
    assert done.result_version.dataset_version_id == done.dataset_version_id


def test_what_an_attempt_measured_of_itself_is_kept_and_shown(cast: Cast) -> None:
    of = job(cast.project_a, cast.bob)
    attempt = opened(of)
    Attempt.objects.filter(pk=attempt.pk).update(n_servers=2)
    first = {"noise_scale": 480.0, "gpu_utilisation": 0.75, "gpu_memory_bytes": 2**30, "of_a_newer_pod": 3}
    later = {"noise_scale": 500.0, "bytes_sent": 9.0}
    post(attempt, 0, *(progress(n) | {"wait_s": 0.01, "measured": m} for n, m in ((10, first), (20, later))))
    staleness = {"type": "staleness", "at": 1.7e9}
    post(attempt, 0, staleness | {"counts": [1]}, staleness | {"counts": [5, 3]}, role="server", index=0)
    answer = post(attempt, 0, staleness | {"counts": [4, 3, 1], "n_discarded": 2}, role="server", index=1)
    assert answer.json() == {"next": 1}
    client = APIClient()
    client.force_authenticate(cast.bob)
    (sample,) = client.get(f"/api/v1/jobs/{of.id}/speed").json()["samples"]
    shown = {one["title"]: (one["value"], one["unit"]) for one in sample["measured"]}
    assert shown == {
        "Gradient noise scale": (500.0, "examples"),
        "GPU utilisation": (0.75, "share"),
        "GPU memory": (2**30, "bytes"),
        "Sent per step": (9.0, "bytes"),
    }
    (read,) = client.get(f"/api/v1/jobs/{of.id}/speed", HTTP_ACCEPT_LANGUAGE="zh-CN").json()["samples"]
    assert [one["title"] for one in read["measured"]] == ["梯度噪声尺度", "GPU 利用率", "GPU 显存", "每步发送"]
    assert sample["wait_s"] == 0.01
    assert (sample["staleness"], sample["n_discarded"]) == ([9, 6, 1], 2)


@pytest.mark.parametrize("value", [-1, "many", True, 1.5, None])
def test_a_measurement_outside_its_bounds_is_refused_by_its_name(attempt: Attempt, value: Any) -> None:
    answer = post(attempt, 0, progress(10) | {"measured": {"gpu_utilisation": value}})
    if value is None:  # not measured
        assert answer.status_code == 200
    else:
        assert answer.json()["errors"][0]["field"] == "lines.0.measured.gpu_utilisation"


def test_only_servers_report_staleness_and_in_whole_numbers(attempt: Attempt) -> None:
    line = {"type": "staleness", "at": 1.7e9, "counts": [1, 2]}
    assert post(attempt, 0, line).json()["code"] == "not_the_speaker"
    Attempt.objects.filter(pk=attempt.pk).update(n_servers=1)
    assert (
        post(attempt, 0, line | {"counts": [1, -2]}, role="server").json()["errors"][0]["field"] == "lines.0.counts.1"
    )
    assert post(attempt, 0, line | {"counts": [1] * 66}, role="server").json()["errors"][0]["field"] == "lines.0.counts"


@pytest.mark.parametrize("phase", ["resumed", "training", "saving"])
@pytest.mark.parametrize("step", ["x", {}, -1, 1.5, True, 2**53 + 1])
def test_a_phase_at_a_step_that_is_no_count_is_refused(attempt: Attempt, phase: str, step: Any) -> None:
    line = {"type": "phase", "at": 1.7e9, "phase": phase, "since_start_s": 3}
    answer = post(attempt, 0, line | {"detail": {"step": step}})
    assert answer.status_code == 422, answer.content
    assert answer.json()["errors"][0]["field"] == "lines.0.detail.step"
    assert post(attempt, 0, line | {"detail": {"step": 7}}, line | {"detail": {}}).json() == {"next": 2}


def test_a_stalled_gang_waits_for_the_workers_that_do_not_wait_themselves(attempt: Attempt) -> None:
    still = {"type": "phase", "at": 1.7e9, "phase": "stalled", "since_start_s": 90.0}
    post(attempt, 0, still | {"detail": {"step": 12, "doing": "sync", "still_s": 61.0}})
    assert waited_for(attempt) == Waited(busy=(), silent=(1,))
    post(attempt, 0, still | {"detail": {"step": 12, "doing": "compute", "still_s": 62.0}}, index=1)
    assert waited_for(attempt) == Waited(busy=(1,), silent=())
    assert str(waited_for(attempt)) == "worker 1 in its own code"
    post(attempt, 1, still | {"phase": "moving", "detail": {}}, index=1)
    post(attempt, 2, still | {"detail": {"step": "x", "doing": 3, "still_s": -1}}, index=1)
    assert waited_for(attempt).busy == (1,)


def test_a_batch_that_grew_is_reported_in_the_jobs_events_with_its_reason(attempt: Attempt) -> None:
    detail = {"step": 240, "was": 32, "batch_size": 64, "learning_rate_factor": 1.5, "reason": "The noise is high."}
    line = {"type": "phase", "at": 1.7e9, "phase": "batch_changed", "since_start_s": 90.0, "detail": detail}
    post(attempt, 0, line)
    post(attempt, 1, line | {"detail": {"step": "x", "was": -1, "learning_rate_factor": 1e300, "reason": None}})
    first, second = Event.objects.filter(kind="attempt.batch_changed").order_by("id")
    assert first.subject_id == attempt.job_id
    assert {key: first.facts[key] for key in detail} == detail
    assert (second.facts["step"], second.facts["was"], second.facts["learning_rate_factor"]) == (0, 0, 1e9)


def test_a_speed_at_a_grown_batch_is_none_of_the_declared_one(attempt: Attempt) -> None:
    Job.objects.filter(pk=attempt.job_id).update(batch_size=32)
    post(attempt, 0, progress(10), progress(20, step_s=99.0) | {"batch_size": 64}, progress(30))
    assert SpeedSample.objects.get(attempt=attempt).step_s < 99.0


def test_a_server_that_came_back_is_reported_in_the_jobs_events(attempt: Attempt) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(n_servers=2)
    detail = {"signal": "SIGKILL", "returns": 1, "away_s": 0.9, "lost_s": 12.5, "updates_lost": 57}
    line = {"type": "phase", "at": 1.7e9, "phase": "server_returned", "since_start_s": 90.0, "detail": detail}
    post(attempt, 0, line, role="server", index=1)
    post(attempt, 0, line)  # a worker has no such thing to report
    post(attempt, 1, line | {"detail": detail | {"away_s": "x", "returns": 10**6}}, role="server", index=1)
    (event,) = Event.objects.filter(kind="attempt.server_returned")
    assert event.subject_id == attempt.job_id
    found = {key: event.facts[key] for key in ("server", "signal", "away_s", "lost_s", "updates_lost")}
    assert found == {"server": 1} | {key: detail[key] for key in ("signal", "away_s", "lost_s", "updates_lost")}


def deleted_inputs(attempt: Attempt, *sha256s: str, token: str | None = None) -> Any:
    client = APIClient(headers={"Authorization": f"Bearer {token or attempts.token_of(attempt.id)}"})
    path = f"/api/v1/ingest/attempts/{attempt.id}/deleted-inputs"
    return client.post(path, {"sha256s": list(sha256s)}, format="json")


def test_a_pod_learns_which_cached_inputs_its_project_no_longer_refers_to(
    cast: Cast, attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob, charlie = cast.client(cast.bob), cast.client(cast.charlie)
    kept = upload(bob, cast.project_a, name="kept", content=csv(9)).json()
    gone = upload(bob, cast.project_a, name="gone", content=csv(8)).json()
    foreign = upload(charlie, cast.project_b, name="foreign", content=csv(7)).json()
    of = {one["name"]: one["latest_version"]["files"][0]["sha256"] for one in (kept, gone, foreign)}
    assert bob.delete(f"/api/v1/datasets/{gone['id']}").status_code == 204
    asked = list(of.values())
    assert deleted_inputs(attempt, *asked).json() == {"sha256s": sorted([of["gone"], of["foreign"]])}
    assert deleted_inputs(attempt, "x").status_code == 422
    assert deleted_inputs(attempt, *["a" * 64] * 5001).status_code == 422
    assert deleted_inputs(attempt, *asked, token="guessed").status_code == 401
    monkeypatch.setattr(ingest, "is_restored_lately", lambda _now: True)
    assert deleted_inputs(attempt, *asked).json() == {"sha256s": []}
