# SPDX-License-Identifier: Apache-2.0
"""Jobs through the public door: submission and its refusals, changes of mind, and the wall between organisations."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.jobs import actions
from mlhub.jobs.models import Job
from mlhub.jobs.states import JobState, Trigger
from mlhub.jobs.tasks import hand_off_job, sweep_not_handed_off
from mlhub.registry.models import Kind, Model, ModelVersion
from tests.cast import Cast, make_cast
from tests.jobs.builders import builtin, job, ready_dataset

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast(max_gpus=4)


def body(cast: Cast, **fields: Any) -> dict[str, Any]:
    dataset = ready_dataset(cast.project_a, cast.bob)
    return {
        "dataset": str(dataset.dataset_id),
        "model": str(builtin().model_id),
        "epochs": 3,
        "batch_size": 16,
    } | fields


def submit(cast: Cast, user: Any = None, key: str | None = None, **fields: Any) -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    return cast.client(user or cast.bob).post("/api/v1/jobs", body(cast, **fields), headers=headers)


def test_a_job_names_data_model_epochs_and_batch_size_and_is_queued(cast: Cast) -> None:
    answer = submit(cast)
    assert answer.status_code == 201, answer.content
    assert (answer.json()["state"], answer.json()["preflight"]) == ("queued", "pending")
    assert answer.json()["name"] == "mlp on blobs"
    assert answer.json()["mode"] == "auto"


def test_a_job_may_name_data_and_model_only(cast: Cast) -> None:
    given = body(cast)
    del given["epochs"], given["batch_size"]
    answer = cast.client(cast.bob).post("/api/v1/jobs", given)
    assert answer.status_code == 201, answer.content
    n_examples = Job.objects.get(pk=answer.json()["id"]).dataset_version.schema["n_examples"]
    n_steps = answer.json()["epochs"] * -(-n_examples // answer.json()["batch_size"])
    assert answer.json()["batch_size"] <= n_examples / 4
    assert n_steps >= 200


def test_a_job_may_say_in_which_range_its_batch_grows(cast: Cast) -> None:
    answer = submit(cast, batch_size={"min": 16, "max": 64}, hyperparameters={"learning_rate": 0.1})
    assert answer.status_code == 201, answer.content
    assert answer.json()["batch_size"] == 16
    assert answer.json()["hyperparameters"] == {"learning_rate": 0.1, "max_batch_size": 64}
    again = cast.client(cast.bob).post(f"/api/v1/jobs/{answer.json()['id']}/clone", {})
    assert again.json()["hyperparameters"]["max_batch_size"] == 64
    clone = f"/api/v1/jobs/{answer.json()['id']}/clone"
    other = cast.client(cast.bob).post(clone, {"batch_size": {"min": 8, "max": 32}}).json()
    assert (other["batch_size"], other["hyperparameters"]) == (8, {"learning_rate": 0.1, "max_batch_size": 32})
    fixed = cast.client(cast.bob).post(clone, {"batch_size": 20}).json()
    assert (fixed["batch_size"], fixed["hyperparameters"]) == (20, {"learning_rate": 0.1})


@pytest.mark.parametrize(
    ("given", "field"),
    [({"min": 16, "max": 8}, "max"), ({"min": 16}, "max"), ({"min": 0, "max": 8}, "min"), ({"most": 1}, "most")],
)
def test_a_range_that_is_none_is_refused(given: dict[str, int], field: str, cast: Cast) -> None:
    answer = submit(cast, batch_size=given)
    assert answer.status_code == 422
    assert field in answer.content.decode()


def test_the_same_key_and_body_give_the_same_job_and_another_body_a_conflict(cast: Cast) -> None:
    first, again = submit(cast, key="k1"), submit(cast, key="k1")
    assert first.json()["id"] == again.json()["id"]
    assert Job.objects.count() == 1
    other = submit(cast, key="k1", epochs=4)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")
    assert submit(cast, user=cast.alice, key="k1").json()["id"] != first.json()["id"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"epochs": 0}, "epochs"),
        ({"batch_size": "many"}, "batch_size"),
        ({"min_workers": 3, "max_workers": 2}, "min_workers"),
        ({"min_workers": 17}, "min_workers"),
        ({"target_metric": "eval/accuracy"}, "target_value"),
        ({"mode": "magic"}, "mode"),
        ({"hyperparameters": [1]}, "hyperparameters"),
        ({"hyperparameters": {"learning_rate": -1}}, "hyperparameters.learning_rate"),
        ({"hyperparameters": {"lr_schedule": "wild"}}, "hyperparameters.lr_schedule"),
        ({"hyperparameters": {"optimizer": "adma"}}, "hyperparameters.optimizer"),
        ({"dataset": None}, "dataset"),
        ({"batch_size": 81}, "batch_size"),
        ({"batch_size": {"min": 8, "max": 16}, "strategy": {"name": "ssp"}}, "batch_size.max"),
        ({"batch_size": {"min": 8, "max": 16}, "mode": "parameter_server"}, "batch_size.max"),
        ({"batch_size": 16, "hyperparameters": {"max_batch_size": 8}}, "hyperparameters.max_batch_size"),
        ({"min_workers": 9, "batch_size": 8}, "min_workers"),
        ({"hyperparameters": {"augment": ["flip"]}}, "hyperparameters.augment"),
        ({"strategy": {"name": "luck"}}, "strategy.name"),
        ({"strategy": {"name": "ssp", "stale": 1}}, "strategy.stale"),
        ({"strategy": {"name": "model_averaging", "period": 0}}, "strategy.period"),
        ({"strategy": {"name": "softsync", "group": 3}, "max_workers": 2}, "strategy.group"),
        ({"strategy": {"name": "elastic_averaging", "alpha": 0.5}, "max_workers": 4}, "max_workers"),
        ({"strategy": {"name": "pipeline", "schedule": "dualpipe_v"}, "max_workers": 3}, "max_workers"),
        (
            {"strategy": {"name": "pipeline", "schedule": "interleaved_1f1b", "micro_batches": 5}, "max_workers": 2},
            "strategy.micro_batches",
        ),
        ({"strategy": {"name": "k_of_n", "k": 4}, "min_workers": 2}, "strategy.k"),
        ({"strategy": {"name": "k_of_n", "k": 4}, "batch_size": 2}, "strategy.k"),
    ],
)
def test_what_can_never_run_is_refused_naming_the_field(cast: Cast, fields: dict[str, Any], field: str) -> None:
    answer = submit(cast, **fields)
    assert answer.status_code == 422, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    assert field in [error["field"] for error in answer.json()["errors"]]


def test_what_is_refused_says_what_to_do(cast: Cast) -> None:
    answer = submit(cast, batch_size=81).json()
    (error,) = answer["errors"]
    assert "80 training examples" in error["message"]
    assert error["remedy"].startswith("Give at most 80")


def test_an_optimiser_that_is_unknown_is_answered_with_the_nearest_one_unless_the_package_has_its_own(
    cast: Cast,
) -> None:
    (error,) = submit(cast, hyperparameters={"optimizer": "adma"}).json()["errors"]
    assert (error["message"], error["remedy"].split("?")[0]) == (
        "The optimizer 'adma' is unknown.", "Did you mean adam",
    )  # fmt: skip
    assert submit(cast, hyperparameters={"optimizer": "Adam"}).status_code == 201
    for functions, status in ((["build_model"], 422), (["build_model", "build_optimizer"], 201)):
        model = Model.objects.create(project=cast.project_a, name=f"own-{status}", created_by=cast.bob)
        own = ModelVersion.objects.create(
            model=model, number=1, state="ready", kind=Kind.PACKAGE, contract={"functions": functions}
        )
        given = body(cast, model_version=str(own.pk), hyperparameters={"optimizer": "adma"})
        del given["model"]
        answer = cast.client(cast.bob).post("/api/v1/jobs", given)
        assert answer.status_code == status, answer.content


def test_a_version_of_so_many_gradients_is_never_given_fewer_workers(cast: Cast) -> None:
    taken = submit(cast, strategy={"name": "softsync", "group": 3}).json()
    assert taken["min_workers"] == 3
    assert submit(cast, strategy={"name": "softsync", "group": 1}).json()["min_workers"] == 1


def test_a_strategy_is_checked_completed_and_brings_its_mode(cast: Cast) -> None:
    taken = submit(cast, strategy={"name": "ssp", "staleness": 5}).json()
    assert (taken["mode"], taken["strategy"]["staleness"]) == ("parameter_server", 5)
    for strategy, mode in (
        ({"name": "luck"}, "auto"),
        ({"name": "ssp", "stale": 1}, "auto"),
        ({"name": "ssp"}, "all_reduce"),
    ):
        refused = submit(cast, strategy=strategy, mode=mode)
        assert refused.status_code == 422, strategy
        assert refused.json()["remedy"]


def test_a_script_may_ask_for_servers_and_for_nothing_else_of_a_strategy(cast: Cast) -> None:
    ModelVersion.objects.filter(pk=builtin().pk).update(kind=Kind.SCRIPT)
    taken = submit(cast, mode="parameter_server", resources={"n_servers": 2}).json()
    assert (taken["mode"], taken["strategy"]) == ("parameter_server", {})
    taken = submit(cast, strategy={"name": "ssp", "staleness": 2}).json()
    assert (taken["mode"], taken["strategy"]["staleness"]) == ("parameter_server", 2)
    for fields, field in (
        ({"strategy": {"name": "all_reduce"}}, "strategy"),
        ({"strategy": {"name": "asp", "compression": "one_bit"}}, "strategy.compression"),
        ({"resources": {"n_servers": 0}}, "resources.n_servers"),
        ({"resources": {"n_servers": 1.5}}, "resources.n_servers"),
        ({"resources": {"server_memory_gib": 0.1}}, "resources.server_memory_gib"),
    ):
        refused = submit(cast, **fields)
        assert refused.status_code == 422, fields
        assert field in [error["field"] for error in refused.json()["errors"]]


def test_the_strategies_that_a_job_may_name_are_listed_with_their_parameters(cast: Cast) -> None:
    listed = {each["name"]: each for each in cast.client(cast.charlie).get("/api/v1/strategies").json()}
    assert listed["ssp"]["mode"] == "parameter_server"
    assert {p["name"] for p in listed["ssp"]["parameters"]} >= {"staleness", "staleness_scaling"}
    assert not listed["ensemble"]["is_resizable"]
    assert "fsdp" in listed["fully_sharded"]["other_names"]
    assert submit(cast, strategy={"name": "push_sum"}).status_code == 201


def test_a_strategy_that_cannot_be_resized_asks_how_many_workers(cast: Cast) -> None:
    refused = submit(cast, strategy={"name": "ensemble"})
    assert refused.status_code == 422
    assert "max_workers" in [error["field"] for error in refused.json()["errors"]]
    assert submit(cast, strategy={"name": "ensemble"}, min_workers=1, max_workers=2).status_code == 422
    taken = submit(cast, strategy={"name": "ensemble"}, max_workers=2).json()
    assert (taken["min_workers"], taken["max_workers"]) == (2, 2)
    elastic = submit(cast, strategy={"name": "elastic_averaging", "alpha": 0.4}).json()
    assert elastic["max_workers"] == 4
    alone = submit(cast, strategy={"name": "single"}).json()
    assert (alone["min_workers"], alone["max_workers"]) == (1, 1)
    assert submit(cast, strategy={"name": "single"}, min_workers=2, batch_size=64).status_code == 422


def test_more_workers_than_the_quota_allows_is_refused_naming_the_limit(cast: Cast) -> None:
    answer = submit(cast, min_workers=5, batch_size=64)
    assert (answer.status_code, answer.json()["limit"], answer.json()["limit_gpus"]) == (422, "max_gpus", 4)


def test_a_dataset_that_is_still_inspected_is_a_conflict_that_says_try_again(cast: Cast) -> None:
    version = ready_dataset(cast.project_a, cast.bob)
    type(version).objects.filter(pk=version.pk).update(state="inspecting")
    answer = submit(cast)
    assert (answer.status_code, answer.json()["code"]) == (409, "not_ready")
    type(version).objects.filter(pk=version.pk).update(state="refused", error={"message": "Bad.", "remedy": "Mend."})
    assert submit(cast).status_code == 422


def test_the_state_of_a_model_s_version_is_told_before_what_its_job_lacks(cast: Cast) -> None:
    model = Model.objects.create(project=cast.project_a, name="mine", created_by=cast.bob)
    version = ModelVersion.objects.create(model=model, number=1, kind="", state="inspecting", created_by=cast.bob)
    for path in ("/api/v1/jobs", "/api/v1/jobs/preview"):
        body = {"project": str(cast.project_a.id), "model_version": str(version.id)}
        ModelVersion.objects.filter(pk=version.pk).update(state="inspecting", error=None)
        answer = cast.client(cast.bob).post(path, body, format="json")
        assert (answer.status_code, answer.json()["code"]) == (409, "not_ready"), answer.content
        assert answer.json()["detail"] == "mine is still being inspected."
        error = {"message": "It imports no torch.", "remedy": "Mend it."}
        ModelVersion.objects.filter(pk=version.pk).update(state="refused", error=error)
        answer = cast.client(cast.bob).post(path, body, format="json")
        assert answer.status_code == 422
        assert answer.json()["detail"] == "mine was refused: It imports no torch."
        assert (answer.json()["errors"][0]["field"], answer.json()["remedy"]) == ("model", "Mend it.")


def test_a_queued_job_is_cancelled_at_once_and_cancelling_again_changes_nothing(cast: Cast) -> None:
    queued = job(cast.project_a, cast.bob)
    client = cast.client(cast.bob)
    for _ in range(2):
        answer = client.post(f"/api/v1/jobs/{queued.id}/cancel")
        assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
    assert client.post(f"/api/v1/jobs/{queued.id}/pause").json()["code"] == "job_ended"


def test_a_paused_job_resumes_and_a_running_one_keeps_its_state_until_the_platform_follows(cast: Cast) -> None:
    queued = job(cast.project_a, cast.bob)
    client = cast.client(cast.bob)
    assert client.post(f"/api/v1/jobs/{queued.id}/pause").json()["state"] == "paused"
    assert client.post(f"/api/v1/jobs/{queued.id}/resume").json()["state"] == "queued"
    from mlhub.jobs.lifecycle import advance

    advance(queued.id, trigger=Trigger.LAUNCH)
    answer = client.post(f"/api/v1/jobs/{queued.id}/pause").json()
    assert (answer["state"], answer["intent"]) == ("starting", "pause")


def test_a_clone_has_the_same_configuration_but_for_the_overrides(cast: Cast) -> None:
    first = job(cast.project_a, cast.bob, seed=7, hyperparameters={"width": 3})
    body = {"epochs": 9, "target_metric": "eval/accuracy", "target_value": 0.9}
    answer = cast.client(cast.bob).post(f"/api/v1/jobs/{first.id}/clone", body)
    assert answer.status_code == 201
    clone = answer.json()
    assert (clone["epochs"], clone["seed"], clone["hyperparameters"]) == (9, 7, {"width": 3})
    assert (clone["target_metric"], clone["target_value"]) == ("eval/accuracy", 0.9)
    assert clone["cloned_from"] == str(first.id)


def test_another_member_may_look_but_not_cancel_while_an_admin_may(cast: Cast) -> None:
    of_alice = job(cast.project_a, cast.alice)
    assert cast.client(cast.bob).get(f"/api/v1/jobs/{of_alice.id}").status_code == 200
    assert cast.client(cast.bob).post(f"/api/v1/jobs/{of_alice.id}/cancel").status_code == 403
    of_bob = job(cast.project_a, cast.bob)
    assert cast.client(cast.alice).post(f"/api/v1/jobs/{of_bob.id}/cancel").status_code == 200


ROUTES = [
    ("get", ""), ("post", "/cancel"), ("post", "/pause"), ("post", "/resume"), ("post", "/clone"), ("get", "/events"),
    ("get", "/metrics"), ("get", "/logs"), ("get", "/speed"), ("get", "/why"),
]  # fmt: skip


def test_charlie_sees_and_touches_nothing_of_another_organisation(cast: Cast) -> None:
    hidden = job(cast.project_a, cast.bob)
    charlie = cast.client(cast.charlie)
    for verb, path in ROUTES:
        answer = getattr(charlie, verb)(f"/api/v1/jobs/{hidden.id}{path}")
        if path == "/events":
            assert answer.json()["results"] == []
        else:
            assert answer.status_code == 404, (verb, path, answer.content)
    assert charlie.get("/api/v1/jobs").json()["results"] == []
    assert charlie.get("/api/v1/queue").json()["results"] == []
    assert submit(cast, user=cast.charlie).status_code == 404
    hidden.refresh_from_db()
    assert (hidden.state, hidden.intent) == ("queued", "run")


def test_a_viewer_reads_and_no_one_does_without_signing_in(cast: Cast) -> None:
    shown = job(cast.project_a, cast.bob)
    victor, anonymous = cast.client(cast.victor), cast.client(None)
    for verb, path in ROUTES:
        expected = 200 if verb == "get" else 403
        assert getattr(victor, verb)(f"/api/v1/jobs/{shown.id}{path}").status_code == expected, (verb, path)
        assert getattr(anonymous, verb)(f"/api/v1/jobs/{shown.id}{path}").status_code == 401, (verb, path)
    assert submit(cast, user=cast.victor).status_code == 403


def test_a_charlie_cannot_train_on_another_organisation_s_data_in_his_own_project(cast: Cast) -> None:
    answer = submit(cast, user=cast.charlie, project=str(cast.project_b.id))
    assert answer.status_code == 404
    own = ready_dataset(cast.project_b, cast.charlie)
    mixed = cast.client(cast.root).post(
        "/api/v1/jobs", body(cast, dataset=str(own.dataset_id), project=str(cast.project_a.id))
    )
    assert (mixed.status_code, mixed.json()["errors"][0]["field"]) == (422, "dataset")


def test_lists_are_pages_filtered_by_state(cast: Cast) -> None:
    jobs = [job(cast.project_a, cast.bob, name=f"job {i}") for i in range(3)]
    actions.cancel_job(jobs[0], actor=cast.bob)
    client = cast.client(cast.bob)
    page = client.get("/api/v1/jobs?state=queued&limit=1").json()
    assert [j["name"] for j in page["results"]] == ["job 2"]
    assert [j["name"] for j in client.get(page["next"]).json()["results"]] == ["job 1"]


@pytest.mark.slow
def test_a_job_whose_model_does_not_fit_its_data_fails_before_it_holds_gpus(cast: Cast, tmp_path: Any) -> None:
    from mlhub.storage.stores import blob_store
    from tests.runtime.gang import write_blobs

    with write_blobs(tmp_path / "blobs.npz", n_features=6).open("rb") as file:
        stored = blob_store().write(file, limit_bytes=2**20)
    version = ready_dataset(cast.project_a, cast.bob)
    files = [{"name": "blobs.npz", "sha256": stored.sha256, "size_bytes": stored.size_bytes}]
    type(version).objects.filter(pk=version.pk).update(files=files)
    fits = job(cast.project_a, cast.bob, is_tried=False)
    hand_off_job(str(fits.id))
    fits.refresh_from_db()
    assert (fits.state, fits.preflight) == ("queued", "passed"), fits.failure
    assert fits.steps_total == 2 * 2  # 48 examples to train on
    assert fits.profile["example_s"] > 0
    images_only = job(cast.project_a, cast.bob, is_tried=False)
    Job.objects.filter(pk=images_only.pk).update(model_version=builtin("small_cnn"))
    hand_off_job(str(images_only.id))
    images_only.refresh_from_db()
    assert images_only.state == JobState.FAILED
    assert images_only.failure["fault"] == "user"
    assert images_only.failure["remedy"] == "Use mlp, or bring code of your own."


def test_a_job_whose_hand_off_was_lost_is_sent_again(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = job(cast.project_a, cast.bob, is_tried=False)
    assert sweep_not_handed_off() == 0
    monkeypatch.setattr("mlhub.jobs.tasks.STUCK_AFTER_S", -1.0)
    assert sweep_not_handed_off() == 1
    actions.cancel_job(lost, actor=cast.bob)
    assert sweep_not_handed_off() == 0
