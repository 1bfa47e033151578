# SPDX-License-Identifier: Apache-2.0
"""Recordings of torch's profiler: asked for, handed to pods that know them, answered once, shown and removed."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from mlhub.events.models import Event
from mlhub.jobs import attempts
from mlhub.jobs.actions import cancel_job
from mlhub.jobs.models import Artifact, Attempt, Job
from mlhub.jobs.retention.deletion import delete_job
from mlhub.metrics.models import PodStream, ProfileRecording, SpeedSample
from mlhub.retention.rules import RULES
from mlhub.storage.models import Holding
from mlhub.tenants.models import Quota
from mlhub.wire.exits import Cause
from mlhub.wire.profiles import MAX_TRACE_BYTES, trace_name
from tests.cast import Cast, make_cast
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db
SUMMARY = {
    "step_s": {"input": 0.1, "compute": 2.0, "sync": 0.5, "wait": 0.25},
    "operators": [
        {"name": "aten::addmm", "calls": 12, "self_cpu_s": 1.5, "cpu_s": 1.75, "device_s": 0, "self_memory_bytes": -64}
    ],
    "n_operators": 31,
    "n_events": 900,
    "n_left_out": 3,
}


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture
def attempt(cast: Cast) -> Attempt:
    return running(job(cast.project_a, cast.bob), n_workers=4)


def running(of: Job, *, n_workers: int = 1, n_servers: int = 0) -> Attempt:
    of.refresh_from_db()
    mode = "parameter_server" if n_servers else "all_reduce"
    found = attempts.open_attempt(
        of, mode=mode, n_workers=n_workers, n_servers=n_servers, held=[attempts.Held("n0", (0,), 0)],
        predicted_step_s=0.1, reason="fits", now=timezone.now(),
    )  # fmt: skip
    assert found is not None
    assert attempts.record_running(found, now=timezone.now())
    return found


class Pod:
    """A worker, or a server, of an attempt, over HTTP."""

    def __init__(self, attempt: Attempt, rank: int = 0, *, role: str = "worker", is_old: bool = False) -> None:
        self.attempt, self.rank, self.role = attempt, rank, role
        abilities = {} if is_old else {"X-MLHub-Abilities": "profile"}
        self._client = APIClient(headers={"Authorization": f"Bearer {attempts.token_of(attempt.id)}", **abilities})

    def send(self, *lines: Any) -> Any:
        role = self.role
        of_pod = PodStream.objects.filter(attempt=self.attempt, role=role, index=self.rank, stream="reports")
        body = {"version": 1, "role": role, "index": self.rank, "stream": "reports", "lines": list(lines)}
        first = of_pod.values_list("next", flat=True).first() or 0
        return self._client.post(self._address("reports"), {**body, "first": first})

    def say(self, recording: str, state: str, **detail: Any) -> Any:
        detail = {"recording": recording, "state": state, **detail}
        return self.send({"type": "phase", "at": 1.7e9, "phase": "profile", "since_start_s": 1.0, "detail": detail})

    def hand_in(self, recording: str, content: bytes = b"trace") -> Any:
        return self._client.put(
            self._address(f"artifacts/{trace_name(recording, self.rank, self.role)}"),
            content,
            content_type="application/octet-stream",
            headers={"X-Content-SHA256": hashlib.sha256(content).hexdigest()},
        )

    def record(self, recording: str, content: bytes = b"trace") -> None:
        assert self.hand_in(recording, content).status_code == 201
        assert self.say(recording, "done", first_step=7, n_steps=5, note="", summary=SUMMARY).status_code == 200

    def _address(self, path: str) -> str:
        return f"/api/v1/ingest/attempts/{self.attempt.id}/{path}"


def ask(cast: Cast, of: Attempt, *, who: Any = None, **body: Any) -> Any:
    return cast.client(who or cast.bob).post(f"/api/v1/jobs/{of.job_id}/profiles", body)


def look(cast: Cast, of: Attempt, recording: str = "", *, who: Any = None) -> Any:
    return cast.client(who or cast.bob).get(f"/api/v1/jobs/{of.job_id}/profiles{recording and '/'}{recording}")


def test_a_recording_goes_from_the_request_to_the_trace(cast: Cast, attempt: Attempt) -> None:
    answer = ask(cast, attempt, steps=5, ranks=[2, 0])
    assert answer.status_code == 201
    asked = answer.json()
    assert (asked["state"], asked["steps"], asked["requested_by"], asked["attempt_number"]) == ("waiting", 5, "bob", 1)
    assert [trace["rank"] for trace in asked["traces"]] == [0, 2]
    first, second, other = Pod(attempt, 0), Pod(attempt, 2), Pod(attempt, 1)
    wanted = {"id": asked["id"], "steps": 5, "ranks": [0, 2], "first_step": None}
    assert first.send().json() == {"next": 0, "profile": wanted}
    assert second.send().json()["profile"] == wanted
    assert "profile" not in other.send().json()
    assert first.say(asked["id"], "recording").status_code == 200
    assert look(cast, attempt, asked["id"]).json()["state"] == "recording"
    first.record(asked["id"])
    assert look(cast, attempt, asked["id"]).json()["state"] == "recording"  # worker 2 has not answered
    second.say(asked["id"], "failed", reason="torch's profiler failed: no.")
    found = look(cast, attempt, asked["id"]).json()
    assert (found["state"], found["reason"]) == ("done", "")
    done, failed = found["traces"]
    assert (done["first_step"], done["n_steps"], done["size_bytes"], done["n_left_out"]) == (7, 5, 5, 3)
    assert (done["operators"], done["step_s"]) == (SUMMARY["operators"], SUMMARY["step_s"])
    assert (failed["state"], failed["reason"]) == ("failed", "torch's profiler failed: no.")
    assert (failed["operators"], failed["step_s"], failed["size_bytes"]) == ([], None, None)
    assert "profile" not in first.send().json()  # it is over
    trace: Any = cast.client(cast.victor).get(f"/api/v1/jobs/{attempt.job_id}/profiles/{asked['id']}/traces/0")
    assert b"".join(trace.streaming_content) == b"trace"
    assert trace.headers["Content-Disposition"].endswith('.worker-0.trace.json.gz"')
    assert (
        cast.client(cast.bob).get(f"/api/v1/jobs/{attempt.job_id}/profiles/{asked['id']}/traces/2").status_code == 404
    )
    assert Event.objects.filter(kind="job.profile_asked", actor=cast.bob).count() == 1


def test_servers_are_recorded_alone_or_with_workers(cast: Cast) -> None:
    attempt = running(job(cast.project_a, cast.bob), n_workers=2, n_servers=2)
    asked = ask(cast, attempt, ranks=[1], servers=[1]).json()
    assert [(one["role"], one["rank"]) for one in asked["traces"]] == [("worker", 1), ("server", 1)]
    worker, server = Pod(attempt, 1), Pod(attempt, 1, role="server")
    wanted = {"id": asked["id"], "steps": 5, "ranks": [1], "first_step": None, "servers": [1]}
    assert (worker.send().json()["profile"], server.send().json()["profile"]) == (wanted, wanted)
    for other in (Pod(attempt, 0), Pod(attempt, 0, role="server")):
        assert "profile" not in other.send().json()
        assert other.hand_in(asked["id"]).status_code == 422
    server.record(asked["id"], b"of the server")
    found = look(cast, attempt, asked["id"]).json()
    assert [one["state"] for one in found["traces"]] == ["waiting", "done"]  # the worker of the same number has not
    worker.record(asked["id"], b"of the worker")
    assert look(cast, attempt, asked["id"]).json()["state"] == "done"
    address = f"/api/v1/jobs/{attempt.job_id}/profiles/{asked['id']}"
    for path, content in (("traces/1", b"of the worker"), ("server-traces/1", b"of the server")):
        trace: Any = cast.client(cast.victor).get(f"{address}/{path}")
        assert b"".join(trace.streaming_content) == content
        assert cast.client(cast.charlie).get(f"{address}/{path}").status_code == 404
    assert cast.client(cast.bob).get(f"{address}/server-traces/0").status_code == 404
    alone = ask(cast, attempt, servers=[0]).json()
    assert [(one["role"], one["rank"]) for one in alone["traces"]] == [("server", 0)]
    assert Pod(attempt, 0, role="server", is_old=True).send().json() == {"next": 0}
    assert "earlier version" in look(cast, attempt, alone["id"]).json()["reason"]


def test_a_server_that_is_not_there_is_refused_with_those_that_are(cast: Cast, attempt: Attempt) -> None:
    answer = ask(cast, attempt, servers=[0]).json()
    assert (answer["code"], "without parameter servers" in answer["errors"][0]["remedy"]) == ("no_such_server", True)
    other = running(job(cast.project_a, cast.bob, name="other"), n_workers=2, n_servers=2)
    answer = ask(cast, other, servers=[2]).json()
    assert "0 to 1" in answer["errors"][0]["remedy"]


def test_it_is_for_who_may_stop_the_job_and_others_of_the_organisation_may_look(cast: Cast, attempt: Attempt) -> None:
    assert ask(cast, attempt, who=cast.victor).status_code == 403
    assert ask(cast, attempt, who=cast.charlie).status_code == 404
    recording = ask(cast, attempt, who=cast.alice).json()["id"]
    assert look(cast, attempt, who=cast.victor).json()[0]["id"] == recording
    assert look(cast, attempt, recording, who=cast.charlie).status_code == 404
    address = f"/api/v1/jobs/{attempt.job_id}/profiles/{recording}"
    assert cast.client(cast.charlie).get(f"{address}/traces/0").status_code == 404
    assert cast.client(cast.victor).delete(address).status_code == 403
    elsewhere = running(job(cast.project_b, cast.charlie))
    assert look(cast, elsewhere, recording, who=cast.charlie).status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"steps": 0}, "steps"), ({"steps": 51}, "steps"), ({"steps": "many"}, "steps"), ({"ranks": []}, "ranks"),
        ({"ranks": [0, 0]}, "ranks"), ({"ranks": [-1]}, "ranks.0"), ({"ranks": [0, 4]}, "ranks.1"),
        ({"step": 5}, "step"), ({"ranks": list(range(9))}, "ranks"), ({"ranks": [], "servers": []}, "ranks"),
        ({"servers": [0, 0]}, "servers"), ({"servers": [-1]}, "servers.0"), ({"servers": [0]}, "servers.0"),
        ({"ranks": [0, 1, 2, 3], "servers": [0, 1, 2, 3, 4]}, "servers"), ({"servers": 0}, "servers"),
    ],
)  # fmt: skip
def test_a_bad_request_names_its_field(cast: Cast, attempt: Attempt, body: dict[str, Any], field: str) -> None:
    answer = ask(cast, attempt, **body)
    assert answer.status_code == 422
    assert field in str(answer.json())
    assert not ProfileRecording.objects.exists()


def test_only_a_training_that_runs_is_recorded_and_one_at_a_time(cast: Cast, attempt: Attempt) -> None:
    queued = job(cast.project_a, cast.bob)
    answer = cast.client(cast.bob).post(f"/api/v1/jobs/{queued.pk}/profiles", {})
    assert (answer.status_code, answer.json()["code"]) == (409, "job_not_running")
    assert answer.json()["remedy"]
    first = ask(cast, attempt).json()["id"]
    answer = ask(cast, attempt)
    assert (answer.status_code, answer.json()["code"]) == (409, "profile_under_way")
    Pod(attempt).record(first)
    assert ask(cast, attempt).status_code == 201
    Job.objects.filter(pk=queued.pk).update(kind="predict")
    answer = cast.client(cast.bob).post(f"/api/v1/jobs/{queued.pk}/profiles", {})
    assert (answer.status_code, answer.json()["code"]) == (409, "not_a_training")


def test_a_pod_of_an_earlier_version_fails_its_rank_at_once(cast: Cast, attempt: Attempt) -> None:
    recording = ask(cast, attempt, ranks=[0]).json()["id"]
    assert Pod(attempt, is_old=True).send().json() == {"next": 0}
    found = look(cast, attempt, recording).json()
    assert found["state"] == "failed"
    assert "earlier version" in found["reason"]
    assert ask(cast, attempt).status_code == 201


def test_a_job_that_ends_or_leaves_meanwhile_ends_the_recording_with_its_reason(cast: Cast, attempt: Attempt) -> None:
    recording = ask(cast, attempt, ranks=[0, 1]).json()["id"]
    Pod(attempt).record(recording)
    attempts.close_failed(attempt, cause=Cause.NODE_LOST, message="kill -9", now=timezone.now())
    found = look(cast, attempt, recording).json()
    assert (found["state"], found["traces"][0]["state"]) == ("done", "done")  # what was recorded stays
    assert found["traces"][1]["reason"] == "Attempt 1 failed before it was recorded."
    again = running(attempt.job)
    second = ask(cast, again).json()["id"]
    cancel_job(attempt.job, actor=cast.bob)
    attempts.close_stopped(again, cause=None, message="", now=timezone.now())
    found = look(cast, again, second).json()
    assert (found["state"], found["reason"]) == ("failed", "Attempt 2 was asked to leave before it was recorded.")


def test_what_nobody_answers_expires(cast: Cast, attempt: Attempt) -> None:
    recording = ask(cast, attempt).json()["id"]
    ProfileRecording.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert look(cast, attempt, recording).json()["state"] == "failed"
    assert "profile" not in Pod(attempt).send().json()
    assert ask(cast, attempt).status_code == 201


def test_workers_that_are_recorded_together_record_the_same_steps(cast: Cast, attempt: Attempt) -> None:
    Job.objects.filter(pk=attempt.job_id).update(steps_done=100, steps_total=10_000, step_s=0.1)
    ask(cast, attempt, ranks=[0, 1])
    assert Pod(attempt).send().json()["profile"]["first_step"] == 220  # all have heard of it by then
    ProfileRecording.objects.all().delete()
    Attempt.objects.update(profile_request={})
    ask(cast, attempt, ranks=[1])
    assert Pod(attempt, 1).send().json()["profile"]["first_step"] is None


def progress(step: int) -> dict[str, Any]:
    return {
        "type": "progress", "at": 1.7e9 + step, "steps_done": step, "steps_total": 100, "epoch": 0.1, "n_workers": 4,
        "n_servers": 0, "batch_size": 32, "step_s": 0.2, "compute_s": 0.1, "sync_s": 0.05, "input_s": 0.05,
    }  # fmt: skip


def test_nothing_is_learnt_of_the_speed_of_steps_that_are_recorded(cast: Cast, attempt: Attempt) -> None:
    recording, pod = ask(cast, attempt).json()["id"], Pod(attempt)
    pod.send(progress(5))
    assert not SpeedSample.objects.exists()
    found = Job.objects.get(pk=attempt.job_id)
    assert (found.steps_done, found.step_s) == (5, None)
    pod.record(recording)
    pod.send(progress(9), progress(12))
    assert SpeedSample.objects.exists()


def test_a_trace_that_nobody_asked_for_or_that_is_too_large_is_refused(cast: Cast, attempt: Attempt) -> None:
    recording = ask(cast, attempt, ranks=[0]).json()["id"]
    assert Pod(attempt, 1).hand_in(recording).status_code == 422
    assert Pod(attempt).hand_in("0199c0de-0000-7000-8000-000000000001").status_code == 422
    assert Pod(attempt).hand_in(recording, bytes(MAX_TRACE_BYTES + 1)).status_code == 413
    pod = Pod(attempt)
    pod.record(recording)
    assert pod.hand_in(recording).status_code == 422
    assert Artifact.objects.count() == 1


@pytest.mark.parametrize(
    "detail",
    [
        {"n_steps": 0, "summary": SUMMARY}, {"n_steps": 5}, {"n_steps": 5, "summary": {**SUMMARY, "operators": [1]}},
        {"n_steps": 5, "summary": {**SUMMARY, "operators": SUMMARY["operators"] * 41}},  # type: ignore[operator]
        {"n_steps": 5, "summary": {**SUMMARY, "step_s": {"compute": -1}}}, {"n_steps": True, "summary": SUMMARY},
    ],
)  # fmt: skip
def test_a_summary_that_cannot_be_true_is_refused(cast: Cast, attempt: Attempt, detail: dict[str, Any]) -> None:
    recording, pod = ask(cast, attempt).json()["id"], Pod(attempt)
    pod.hand_in(recording)
    assert pod.say(recording, "done", **detail).status_code == 422
    assert look(cast, attempt, recording).json()["state"] == "waiting"


def test_reports_on_what_was_not_asked_for_change_nothing(cast: Cast, attempt: Attempt) -> None:
    pod = Pod(attempt)
    assert pod.say("0199c0de-0000-7000-8000-000000000001", "failed", reason="?").status_code == 200
    assert pod.say("no id", "done").status_code == 200
    recording = ask(cast, attempt, ranks=[1]).json()["id"]
    assert pod.say(recording, "failed", reason="not mine").status_code == 200
    assert look(cast, attempt, recording).json()["state"] == "waiting"
    assert Pod(attempt, 1).say(recording, "done", n_steps=1, summary=SUMMARY).status_code == 200
    found = look(cast, attempt, recording).json()
    assert (found["state"], found["reason"]) == ("failed", "The worker has handed in no trace.")


def test_traces_count_against_the_storage_quota(cast: Cast, attempt: Attempt) -> None:
    recording = ask(cast, attempt).json()["id"]
    Quota.objects.update_or_create(organisation=cast.a, defaults={"max_storage_bytes": 1})
    answer = Pod(attempt).hand_in(recording)
    assert (answer.status_code, answer.json()["code"]) == (422, "quota_exceeded")


@pytest.mark.slow
def test_a_deleted_recording_gives_its_bytes_back_and_other_artifacts_stay(cast: Cast, attempt: Attempt) -> None:
    first = ask(cast, attempt, ranks=[0, 1]).json()["id"]
    Pod(attempt, 0).record(first, b"one")
    Pod(attempt, 1).record(first, b"two")
    second = ask(cast, attempt).json()["id"]
    Pod(attempt, 0).record(second, b"one")  # the same bytes as in the first
    address = f"/api/v1/jobs/{attempt.job_id}/profiles/{first}"
    assert cast.client(cast.bob).delete(address).status_code == 204
    assert cast.client(cast.bob).get(address).status_code == 404
    held = set(Holding.objects.filter(owner_kind="artifact").values_list("blob", flat=True))
    assert held == {hashlib.sha256(b"one").hexdigest()}
    third = ask(cast, attempt).json()["id"]
    assert cast.client(cast.bob).delete(f"/api/v1/jobs/{attempt.job_id}/profiles/{third}").status_code == 204
    assert "profile" not in Pod(attempt).send().json()
    assert Event.objects.filter(kind="job.profile_deleted").count() == 2


@pytest.mark.slow
def test_a_job_keeps_the_newest_recordings_and_they_expire_by_their_rule(cast: Cast, attempt: Attempt) -> None:
    names = []
    for _ in range(22):
        names.append(ask(cast, attempt).json()["id"])
        Pod(attempt).say(names[-1], "failed", reason="no")
    kept = [one["id"] for one in look(cast, attempt).json()]
    assert kept == names[:1:-1]
    now = timezone.now()
    ProfileRecording.objects.filter(pk__in=kept[5:]).update(ended_at=now - timedelta(days=40))
    assert RULES["profiles"](now - timedelta(days=30), now, 1000) == 15
    assert RULES["profiles"](now - timedelta(days=30), now, 1000) == 0
    assert len(look(cast, attempt).json()) == 5


def test_a_deleted_job_takes_its_traces_along(cast: Cast, attempt: Attempt) -> None:
    Pod(attempt).record(ask(cast, attempt).json()["id"])
    cancel_job(attempt.job, actor=cast.bob)
    attempts.close_stopped(attempt, cause=None, message="", now=timezone.now())
    delete_job(Job.objects.get(pk=attempt.job_id), actor=cast.bob)
    assert not ProfileRecording.objects.exists()
    assert not Holding.objects.filter(owner_kind="artifact").exists()
