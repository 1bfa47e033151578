# SPDX-License-Identifier: Apache-2.0
"""Inspection: what is sound becomes ready, what is not is refused with a reason, and nothing waits for ever."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest
from django.utils import timezone

from mlhub.datasets import tasks
from mlhub.datasets.actions import refuse_version
from mlhub.datasets.models import DatasetVersion, VersionState
from mlhub.events.models import Event
from mlhub.storage.actions import used_bytes
from mlhub.storage.inspection import MAX_TRIES
from mlhub.storage.models import WorkItem
from tests.datasets import audio, files
from tests.datasets.test_uploads import upload


def inspected(cast, **given):
    """The version as the API shows it after its inspection."""
    bob = cast.client(cast.bob)
    answer = upload(bob, cast.project_a, **given)
    assert answer.status_code == 201, answer.json()
    version = answer.json()["latest_version"]["id"]
    tasks.inspect_version(version)
    return bob.get(f"/api/v1/dataset-versions/{version}").json()


BUILTIN_MODELS = {
    "table": ["mlp"],
    "images": ["small_cnn", "mlp"],
    "audio": ["audio_cnn", "mlp"],
    "text": ["text_cnn"],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "task", "shown"),
    [
        ({"filename": "x.npz", "content": files.npz()}, "classification", "table"),
        ({"filename": "x.csv", "content": files.csv(), "target": "species"}, "classification", "table"),
        ({"filename": "x.parquet", "content": files.parquet(), "target": "y"}, "regression", "table"),
        ({"filename": "x.jsonl", "content": files.json_lines(), "target": "species"}, "classification", "table"),
        ({"filename": "x.zip", "content": files.images()}, "classification", "images"),
        ({"filename": "x.txt", "content": files.text()}, "language_modelling", "text"),
        ({"filename": "x.tar", "content": files.shard()}, "classification", "images"),
        ({"filename": "x.zip", "content": audio.zip_of_clips()}, "classification", "audio"),
        ({"filename": "x.jsonl", "content": files.reviews()}, "classification", "text"),
    ],
)
def test_a_sound_file_becomes_ready_with_schema_and_sample(cast, given, task, shown):
    version = inspected(cast, **given)
    assert (version["state"], version["error"]) == ("ready", None)
    assert version["schema"]["task"] == task
    assert version["schema"]["n_examples"] > 1
    assert version["preview"]["kind"] == shown
    fitting = ["tiny_transformer"] if task == "language_modelling" else BUILTIN_MODELS[shown]
    assert version["builtin_models"] == fitting
    assert version["inspected_at"]
    assert Event.objects.filter(kind="dataset.ready").count() == 1


@pytest.mark.parametrize(
    ("filename", "content", "n_files", "n_bytes"),
    [
        ("weights.bin", b"raw", 1, 3),
        ("audio.zip", files.zipped({"a/1.wav": b"sound", "labels.json": b"{}"}), 2, 7),
    ],
)
def test_files_of_any_kind_become_ready_when_the_upload_says_so(cast, filename, content, n_files, n_bytes):
    version = inspected(cast, filename=filename, content=content, format="files")
    assert (version["state"], version["error"]) == ("ready", None)
    assert version["schema"] == {"task": "files", "n_files": n_files, "n_bytes": n_bytes}
    assert version["preview"]["kind"] == "files"
    assert version["builtin_models"] == []


def test_text_is_cut_as_asked_and_its_vocabulary_stays_with_the_version(cast):
    asked = {"tokenizer": "bpe", "vocabulary_size": 300, "context_length": 8, "documents": "lines"}
    version = inspected(cast, filename="x.txt", content=b"to be or not to be\n" * 40, **asked)
    assert (version["state"], version["options"]) == ("ready", asked)
    assert version["schema"]["tokenizer"]["kind"] == "bpe"
    assert version["schema"]["tokenizer"]["merges"]
    assert version["schema"]["context_length"] == 8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "code", "field"),
    [
        ({"filename": "x.npz", "content": b"PK\x03\x04 broken"}, "invalid_file", "file"),
        ({"filename": "x.csv", "content": b"a,b\n1\n2,3,4\n", "target": "a"}, "invalid_file", "file"),
        ({"filename": "x.zip", "content": files.zipped({"a/1.png": bytes(60 * 2**20)})}, "archive_bomb", "file"),
        ({"filename": "x.zip", "content": files.zipped({"../../a/1.png": b"x"})}, "path_traversal", "file"),
        ({"filename": "x.tar", "content": files.tarred({"../../a.png": b"x"})}, "path_traversal", "file"),
        ({"filename": "x.tar", "content": files.shard(), "target": "kind"}, "invalid_file", "target"),
        ({"filename": "x.tar", "content": files.shard_of({"label": "\0"})}, "invalid_file", "file"),
        ({"filename": "x.jsonl", "content": files.reviews(label="a\0b")}, "invalid_file", "file"),
        ({"filename": "x.jsonl", "content": files.reviews(), "target": "stars"}, "invalid_file", "target"),
    ],
)
def test_an_unsound_file_is_refused_with_a_reason_and_frees_the_quota(cast, given, code, field):
    version = inspected(cast, **given)
    assert version["state"] == "refused"
    assert (version["error"]["code"], version["error"]["field"]) == (code, field)
    assert version["error"]["message"]
    assert version["error"]["remedy"]
    assert used_bytes(cast.a) == 0
    assert Event.objects.get(kind="dataset.refused").facts["error"]["code"] == code


@pytest.mark.slow
def test_all_faults_of_a_refused_file_are_in_the_language_of_the_request(cast):
    lines = b'{"age": 1, "label": "a"}\n[1]\n{"age": "old", "label": "b"}\n{"age": 2, "age": 3}\n'
    version = inspected(cast, filename="x.jsonl", content=lines, target="label")
    chinese = read_in_chinese(cast, version)["error"]
    assert chinese["message"].split("\n") == [
        "第 2 行：不是对象。",
        "第 3 行：'age' 在这里是文本，而在第 1 行是数字。",
        "第 4 行：字段 'age' 出现两次。",
    ]
    assert chinese["remedy"].startswith("请每行写一个对象")
    assert (chinese["code"], version["error"]["message"].split("\n")[0]) == ("invalid_file", "Line 2: it is no object.")


@pytest.mark.slow
def test_what_is_said_of_columns_is_in_the_language_of_the_request(cast):
    given = {"content": files.customers(), "target": "churn", "ignore": "cty"}
    version = inspected(cast, filename="customers.csv", **given)
    assert {problem["message"] for problem in version["statistics"]["problems"]} == {
        "There is no column 'churn'.",
        "There is no column 'cty' to apply ignore to.",
    }
    chinese = read_in_chinese(cast, version)
    problems = {problem["message"] for problem in chinese["statistics"]["problems"]}
    assert problems == {"没有列 'churn'。", "没有可应用 ignore 的列 'cty'。"}
    assert set(chinese["error"]["message"].split("\n")) == problems
    treatments = {column["name"]: column["treatment"] for column in chinese["statistics"]["columns"]}
    assert treatments["income"] == "按训练行标准化。20 行缺失：用单独的输入标记，并用训练行的平均值填充。"
    assert treatments["source"] == "不使用：它在每一行的值都相同。"


def read_in_chinese(cast, version):
    address = f"/api/v1/dataset-versions/{version['id']}"
    return cast.client(cast.bob).get(address, HTTP_ACCEPT_LANGUAGE="zh-CN").json()


def test_an_inspection_sent_twice_works_once(cast):
    version = inspected(cast, filename="x.txt", content=files.text())
    tasks.inspect_version(version["id"])
    assert Event.objects.filter(kind="dataset.ready").count() == 1
    assert refuse_version(version["id"], error={"message": "late"}) is False
    assert version["files"][0]["sha256"] == hashlib.sha256(files.text()).hexdigest()
    assert cast.client(cast.bob).get(f"/api/v1/dataset-versions/{version['id']}").json() == version


def test_an_inspection_of_what_was_deleted_meanwhile_does_nothing(cast):
    version = upload(cast.client(cast.bob), cast.project_a).json()
    cast.client(cast.bob).delete(f"/api/v1/datasets/{version['id']}")
    tasks.inspect_version(version["latest_version"]["id"])
    assert not Event.objects.filter(kind__in=["dataset.ready", "dataset.refused"]).exists()


def test_a_version_that_the_platform_fails_to_inspect_is_retried_and_then_given_up(cast, settings, tmp_path):
    (tmp_path / "sandbox").write_text("a file where the folder should be")
    version = upload(cast.client(cast.bob), cast.project_a).json()["latest_version"]["id"]
    for _ in range(MAX_TRIES):
        with pytest.raises(OSError, match="sandbox"):
            tasks.inspect_version(version)
        assert DatasetVersion.objects.get().state == VersionState.INSPECTING
    tasks.inspect_version(version)
    given_up = DatasetVersion.objects.get()
    assert given_up.state == VersionState.REFUSED
    assert given_up.error["code"] == "inspection_failed"
    assert str(MAX_TRIES) in given_up.error["message"]


@pytest.mark.slow
def test_a_failure_of_the_platform_that_passes_leaves_no_trace(cast, settings, tmp_path):
    blocked = tmp_path / "sandbox"
    blocked.write_text("")
    version = upload(cast.client(cast.bob), cast.project_a, target="species").json()["latest_version"]["id"]
    with pytest.raises(OSError, match="sandbox"):
        tasks.inspect_version(version)
    blocked.unlink()
    tasks.inspect_version(version)
    assert DatasetVersion.objects.get().state == VersionState.READY


def test_the_sweep_queues_what_waited_too_long_in_no_queue_and_nothing_else(cast):
    bob = cast.client(cast.bob)
    for i in range(4):
        upload(bob, cast.project_a, name=f"d{i}")
    lost, done, queued, fresh = DatasetVersion.objects.order_by("id")
    old = [lost.pk, done.pk, queued.pk]
    DatasetVersion.objects.filter(pk__in=old).update(created_at=timezone.now() - timedelta(minutes=2))
    refuse_version(done.id, error={"field": "file", "message": "no", "remedy": "none"})
    WorkItem.objects.filter(subject_id__in=[lost.pk, done.pk, fresh.pk]).delete()
    assert [tasks.sweep_uninspected(), tasks.sweep_uninspected()] == [1, 0]
    items = WorkItem.objects.waiting().values_list("task", "subject_id", "organisation", "user")
    assert set(items) == {(tasks.inspect_version.name, v.pk, cast.a.pk, cast.bob.pk) for v in (lost, queued)}


def test_the_task_has_the_name_that_actions_send(cast):
    from mlhub.datasets.actions import INSPECT

    assert tasks.inspect_version.name == INSPECT
