# SPDX-License-Identifier: Apache-2.0
"""Notebooks as jobs of the queue: what they take, how they wait, run and are reclaimed; the backend is ours."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from mlhub.control.pods.launch_specs import launch_spec
from mlhub.control.rounds.snapshots import take_snapshot
from mlhub.events.models import Event
from mlhub.jobs import attempts
from mlhub.jobs.models import Attempt, Job, NotebookActivity
from mlhub.jobs.states import JobState
from mlhub.metrics.actions import ReportingPod, store_lines
from mlhub.registry.models import Model
from mlhub.wire.environment import NOTEBOOK_TOKEN
from mlhub.wire.launch import LaunchSpec
from mlhub.wire.report import NOTEBOOK_PHASE
from tests.cast import Cast, make_cast
from tests.control.worlds import World, node, state
from tests.jobs.builders import job as a_training

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast(max_gpus=4)


def submit(cast: Cast, *, as_user: Any = None, **body: Any) -> Any:
    sent = {"kind": "notebook", "project": str(cast.project_a.id), **body}
    return cast.client(as_user or cast.bob).post("/api/v1/jobs", sent, format="json")


def notebook(cast: Cast, **body: Any) -> Job:
    answer = submit(cast, **body)
    assert answer.status_code == 201, answer.json()
    return Job.objects.get(pk=answer.json()["id"])


def running(world: World) -> Job:
    """A notebook that runs, and whose server answers."""
    world.now = timezone.now()
    job = notebook(world.cast)
    world.rounds(2)
    world.backend.start(str(Attempt.objects.get(job=job).pk))
    world.round()
    assert state(job) == "running"
    report(job, idle_s=0.0)
    return job


def report(job: Job, *, first: int = 0, phase: str = NOTEBOOK_PHASE, **detail: Any) -> None:
    attempt = Attempt.objects.select_related("job__project__organisation").get(job=job, ended_at=None)
    line = {"type": "phase", "at": 1.0, "phase": phase, "since_start_s": 1.0, "detail": detail}
    store_lines(attempt, ReportingPod("worker", 0), stream="reports", first=first, lines=[line])


def test_a_notebook_waits_in_the_queue_as_one_worker_of_unknown_length(cast: Cast) -> None:
    job = notebook(cast, name="look", limits={"idle_s": 600}, resources={"memory_gib": 2})
    assert (job.kind, job.preflight, job.min_workers, job.max_workers) == ("notebook", "passed", 1, 1)
    (snapshot,) = take_snapshot([node("n0")], now=timezone.now(), round_number=1).jobs
    assert (snapshot.length_is_known, snapshot.min_workers, snapshot.max_workers) == (False, 1, 1)
    assert snapshot.hold is None
    attempt = attempts.open_attempt(
        job, mode="all_reduce", n_workers=1, n_servers=0, held=[attempts.Held("n0", (0,), 0)], predicted_step_s=None,
        reason="fits", now=timezone.now(),
    )  # fmt: skip
    assert attempt is not None
    spec = launch_spec(attempts.attempt_to_launch(attempt.pk))
    assert (spec.model.kind, spec.prediction, spec.dataset) == ("notebook", None, None)
    token = spec.secrets[NOTEBOOK_TOKEN]
    assert len(token) == 64
    assert token not in spec.without_secrets().to_json()
    assert LaunchSpec.from_json(spec.to_json()) == spec


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"model": "mlp"}, "model"),
        ({"epochs": 3}, "epochs"),
        ({"min_workers": 2}, "min_workers"),
        ({"resources": {"n_workers": 2}}, "resources.n_workers"),
        ({"limits": {"stall_s": 600}}, "limits.stall_s"),
        ({"limits": {"idle_s": 5}}, "limits.idle_s"),
        ({"limits": {"idle_seconds": 600}}, "limits.idle_seconds"),
        ({"project": None}, "project"),
    ],
)
def test_what_a_notebook_does_not_take_is_refused_by_name(cast: Cast, body: dict[str, Any], field: str) -> None:
    answer = submit(cast, **body)
    assert 400 <= answer.status_code < 500, answer.json()
    assert field in str(answer.json()["errors"])


def test_only_notebooks_have_an_idle_limit_and_no_training_names_their_code(cast: Cast) -> None:
    notebook(cast)
    answer = submit(cast, kind="train", model="jupyterlab")
    assert answer.status_code in (404, 422), answer.json()
    answer = submit(cast, kind="train", model="mlp", limits={"idle_s": 600})
    assert "idle_s" in str(answer.json())
    names = [row["name"] for row in cast.client(cast.bob).get("/api/v1/models").json()["results"]]
    assert "jupyterlab" not in names
    assert not Model.objects.visible_to(cast.root).filter(name="jupyterlab").exists()


def test_without_an_address_of_their_own_there_are_none(cast: Cast, settings: Any) -> None:
    settings.NOTEBOOK_ORIGIN = ""
    answer = submit(cast)
    assert answer.status_code == 422
    assert "MLHUB_NOTEBOOK_ORIGIN" in answer.json()["remedy"]
    assert cast.client(cast.bob).get("/api/v1/scheduler/status").json()["offers_notebooks"] is False
    settings.NOTEBOOK_ORIGIN, settings.BACKEND = "http://*.notebooks.localhost", "kubernetes"
    assert "kubernetes" in submit(cast).json()["detail"]
    settings.BACKEND = "local"
    status = cast.client(cast.bob).get("/api/v1/scheduler/status").json()
    assert (status["offers_notebooks"], status["no_notebooks_because"]) == (True, "")


def test_where_pods_run_on_machines_with_agents_it_is_refused_before_it_is_queued(cast: Cast, settings: Any) -> None:
    settings.NOTEBOOK_ORIGIN = "http://*.notebooks.localhost"
    paused = notebook(cast)
    Job.objects.filter(pk=paused.pk).update(state=JobState.PAUSED, intent="pause")
    settings.BACKEND = "agents"
    for answer in (submit(cast), cast.client(cast.bob).post(f"/api/v1/jobs/{paused.pk}/resume")):
        assert answer.status_code == 422
        assert "connects to none of the machines" in answer.json()["detail"]
    assert Job.objects.count() == 1
    status = cast.client(cast.bob).get("/api/v1/scheduler/status", headers={"Accept-Language": "zh"}).json()
    assert status["offers_notebooks"] is False
    assert status["no_notebooks_because"]
    assert "connects" not in status["no_notebooks_because"]


def test_who_may_not_submit_jobs_starts_none_and_strangers_see_none(cast: Cast) -> None:
    assert submit(cast, as_user=cast.victor).status_code == 403
    assert submit(cast, as_user=cast.charlie).status_code in (403, 404)
    job = notebook(cast)
    for verb in ("get", "post"):
        answer = getattr(cast.client(cast.charlie), verb)(f"/api/v1/jobs/{job.pk}/notebook")
        assert answer.status_code == 404
    assert cast.client(cast.bob).post(f"/api/v1/jobs/{job.pk}/notebook").status_code == 409


def test_it_is_cloned_and_changed_within_what_it_takes(cast: Cast) -> None:
    job = notebook(cast, limits={"idle_s": 600})
    client = cast.client(cast.bob)
    clone = client.post(f"/api/v1/jobs/{job.pk}/clone", {}, format="json")
    assert (clone.status_code, clone.json()["kind"], clone.json()["limits"]) == (201, "notebook", {"idle_s": 600})
    assert client.post(f"/api/v1/jobs/{job.pk}/clone", {"epochs": 2}, format="json").status_code == 422
    assert client.patch(f"/api/v1/jobs/{job.pk}", {"priority": -3}, format="json").status_code == 200
    assert client.patch(f"/api/v1/jobs/{job.pk}", {"max_workers": 2}, format="json").status_code == 422


@pytest.mark.slow
def test_an_idle_notebook_is_warned_of_once_then_paused_and_resumed(cast: Cast) -> None:
    world = World(cast)
    job = running(world)

    def idle_for(seconds: float) -> list[str]:
        """The pod has said so just now."""
        world.now = timezone.now()
        NotebookActivity.objects.update(active_at=world.now - timedelta(seconds=seconds), reported_at=world.now)
        world.round()
        return list(
            Event.objects.filter(subject_id=job.pk, kind__startswith="notebook.").values_list("kind", flat=True)
        )

    client = cast.client(cast.bob)
    assert idle_for(1400) == []
    assert idle_for(1550) == ["notebook.idle"]
    assert client.get(f"/api/v1/jobs/{job.pk}/notebook").json()["is_warned"] is True
    assert idle_for(1600) == ["notebook.idle"]
    assert client.get(f"/api/v1/jobs/{job.pk}/notebook").json()["is_ready"] is True
    assert idle_for(1801)[-1] == "notebook.reclaimed"
    world.rounds(3)
    assert state(job) in ("stopping", "paused")
    job.refresh_from_db()
    assert job.intent == "pause"
    assert client.get(f"/api/v1/jobs/{job.pk}/notebook").json()["reclaimed_at"] is not None
    assert client.post(f"/api/v1/jobs/{job.pk}/notebook").status_code == 409
    world.rounds(3)
    assert state(job) == "paused"
    assert "nothing was done in it for 30 min" in client.get(f"/api/v1/jobs/{job.pk}/why").json()["headline"]


@pytest.mark.slow
def test_while_reports_do_not_arrive_no_notebook_is_reclaimed(cast: Cast) -> None:
    world = World(cast)
    job = running(world)
    hour = timedelta(hours=1)
    NotebookActivity.objects.update(active_at=world.now - hour, reported_at=world.now - hour)
    world.rounds(2)
    assert state(job) == "running"


@pytest.mark.slow
def test_a_notebook_that_does_not_answer_is_paused_and_says_since_when(cast: Cast, settings: Any) -> None:
    settings.NOTEBOOK_SILENT_LIMIT_S = 600.0
    world, client = World(cast), cast.client(cast.bob)
    job = running(world)
    path = f"/api/v1/jobs/{job.pk}/notebook"
    assert client.get(path).json()["silent_since"] is None
    report(job, first=1, phase="stalled", doing="compute", step=0, still_s=500)
    world.now = timezone.now()
    world.round()
    assert state(job) == "running"
    found = client.get(path).json()
    assert (found["is_ready"], found["silent_since"] is None, found["stops_at"] is None) == (False, False, False)
    # it answers again, and hangs again
    report(job, first=2, phase="moving")
    assert client.get(path).json()["is_ready"] is True
    report(job, first=3, phase="stalled", doing="compute", step=0, still_s=601)
    world.now = timezone.now()
    world.rounds(3)
    job.refresh_from_db()
    assert (job.intent, state(job)) in (("pause", "stopping"), ("pause", "paused"))
    assert job.failure is None
    (event,) = Event.objects.filter(subject_id=job.pk, kind="notebook.silent")
    assert event.facts["limit_s"] == 600
    found = client.get(path).json()
    assert found["reclaimed_at"] is not None
    assert found["silent_since"] is not None
    world.rounds(3)
    assert state(job) == "paused"
    for sentence in (
        client.get(f"/api/v1/jobs/{job.pk}").json()["pause_reason"],
        client.get(f"/api/v1/jobs/{job.pk}/why").json()["headline"],
    ):
        assert sentence == "It was paused, since JupyterLab did not answer. Its folder is kept: resume it."


@pytest.mark.slow
def test_one_that_never_answered_is_paused_too_and_a_report_that_is_old_pauses_none(cast: Cast) -> None:
    world = World(cast)
    job = running(world)
    NotebookActivity.objects.all().delete()
    report(job, first=1, phase="stalled", doing="start", step=0, still_s=5000)
    world.now = timezone.now() + timedelta(hours=1)
    world.round()
    assert state(job) == "running"
    world.now = timezone.now()
    world.rounds(3)
    assert state(job) in ("stopping", "paused")
    assert Event.objects.filter(kind="attempt.stalled").count() == 0


def test_no_finish_is_predicted_of_a_notebook_and_it_has_waited_until_it_answered(cast: Cast) -> None:
    world = World(cast)
    job = running(world)
    world.rounds(2)
    client = cast.client(cast.bob)
    found = client.get(f"/api/v1/jobs/{job.pk}").json()
    assert (found["predicted_finish_at"], found["predicted_finish_p90_at"]) == (None, None)
    assert found["first_predicted_finish_at"] is None
    assert found["started_at"] is not None
    assert found["trained_s"] >= 0
    why = client.get(f"/api/v1/jobs/{job.pk}/why?analysis=true").json()
    assert why["predicted_finish_at"] is None
    assert {decision["predicted_finish_at"] for decision in why["history"]} == {None}
    assert why["analysis"] is None
    assert "until it is shut down or paused" in why["note"]
    report(job, first=1, idle_s=2.0)
    assert client.get(f"/api/v1/jobs/{job.pk}").json()["started_at"] == found["started_at"]


@pytest.mark.slow
@pytest.mark.parametrize("idle_s", [-1, "x", None, True, 1e300, [3], {"a": 1}])
def test_what_a_pod_cannot_know_counts_as_activity(cast: Cast, idle_s: Any) -> None:
    world = World(cast)
    job = running(world)
    before = timezone.now()
    NotebookActivity.objects.all().delete()
    report(job, first=1, idle_s=idle_s)
    assert NotebookActivity.objects.get().active_at >= before


@pytest.mark.slow
def test_the_address_is_for_its_owner_and_administrators(cast: Cast) -> None:
    world = World(cast)
    job = running(world)
    path = f"/api/v1/jobs/{job.pk}/notebook"
    opened = cast.client(cast.bob).post(path)
    assert opened.status_code == 201, opened.json()
    assert opened.json()["url"].startswith(f"http://{UUID(str(job.pk))}.notebooks.localhost")
    assert cast.client(cast.alice).post(path).status_code == 201
    assert cast.client(cast.victor).post(path).status_code == 403
    assert Event.objects.filter(kind="notebook.opened", subject_id=job.pk).count() == 2


def test_a_training_is_no_notebook(cast: Cast) -> None:
    training = a_training(cast.project_a, cast.bob)
    client = cast.client(cast.bob)
    assert client.get(f"/api/v1/jobs/{training.pk}/notebook").status_code == 404
    assert client.post(f"/api/v1/jobs/{training.pk}/notebook").json()["code"] == "no_notebook"
