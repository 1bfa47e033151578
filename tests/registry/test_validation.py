# SPDX-License-Identifier: Apache-2.0
"""Validation: code that keeps the contract becomes ready; other code is refused with the reason and its traceback."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from mlhub.events.models import Event
from mlhub.registry import tasks
from mlhub.registry.actions import VALIDATE, refuse_version
from mlhub.registry.models import ModelVersion
from mlhub.storage.actions import used_bytes
from mlhub.storage.inspection import MAX_TRIES
from mlhub.storage.models import WorkItem
from tests.datasets.files import zipped
from tests.registry.packages import CODE, upload


def validated(cast, **given):
    """The version as the API shows it after its validation."""
    bob = cast.client(cast.bob)
    answer = upload(bob, cast.project_a, **given)
    assert answer.status_code == 201, answer.json()
    version = answer.json()["latest_version"]["id"]
    tasks.validate_version(version)
    return bob.get(f"/api/v1/model-versions/{version}").json()


@pytest.mark.slow
def test_a_package_that_keeps_the_contract_is_ready_and_validated_once(cast):
    version = validated(cast)
    assert (version["state"], version["error"]) == ("ready", None)
    contract = {"files": ["model.py"], "functions": ["build_model"], "description": "One layer.", "hints": []}
    assert version["contract"] == contract
    tasks.validate_version(version["id"])
    assert Event.objects.filter(kind="model.ready").count() == 1
    assert refuse_version(version["id"], error={"message": "late"}) is False


def test_a_script_is_read_and_not_run(cast):
    code = b'"""Trains."""\nraise SystemExit("ran")\nparser.add_argument("--batch-size", default=256)\n'
    version = validated(cast, filename="train.py", content=code, kind="script")
    assert (version["state"], version["contract"]["description"]) == ("ready", "Trains.")
    assert version["contract"]["is_distributed"] is False
    assert version["contract"]["own_counts"] == {"batch_size": 256}
    (hint,) = version["contract"]["hints"]
    assert "on one worker" in hint


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("package", CODE + b'HYPERPARAMETERS = {"width": 8, "memory_gib": 4}\n'),
        ("script", b"import argparse\nargparse.ArgumentParser().add_argument('--memory-gib', type=int)\n"),
    ],
)
def test_code_that_declares_a_former_setting_is_ready_with_a_hint(cast, kind, code):
    filename = "model.py" if kind == "package" else "train.py"
    version = validated(cast, filename=filename, content=code, kind=kind)
    assert (version["state"], version["error"]) == ("ready", None)
    hint = version["contract"]["hints"][0]
    assert hint.startswith("memory_gib is now resources.memory_gib")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "kind", "entry"),
    [
        ({"train.py": b"import model", "model.py": b"class GPT: ..."}, "script", "train.py"),
        ({"train.py": b"print(1)", "model.py": CODE}, "package", "model"),
        ({"fit-all.py": b"print(1)"}, "script", "fit-all.py"),
        ({"net.py": CODE}, "package", "net"),
        ({"gpt-main/train.py": b"import model", "gpt-main/model.py": b"class GPT: ..."}, "script", "gpt-main/train.py"),
    ],
)
def test_what_code_is_that_was_uploaded_without_a_kind_is_found_out(cast, files, kind, entry):
    version = validated(cast, content=zipped(files))
    assert (version["state"], version["kind"], version["entry"]) == ("ready", kind, entry), version["error"]


@pytest.mark.slow
def test_code_that_is_neither_is_refused_and_named(cast):
    version = validated(cast, content=zipped({"a.py": b"", "b.py": b""}))
    assert version["state"] == "refused"
    assert "model" in version["error"]["message"]
    my_net = validated(cast, name="n", filename="my-net.py", content=CODE)
    assert (my_net["state"], my_net["error"]["field"]) == ("refused", "entry")


def test_an_entry_that_looks_like_an_option_is_still_an_entry(cast):
    version = validated(cast, content=zipped({"-m.py": b"'Trains.'"}), kind="script", entry="-m.py")
    assert version["state"] == "ready", version["error"]


@pytest.mark.parametrize(
    ("files", "code", "words"),
    [
        ({"model.py": b"import nothing_of_that_name"}, "user_code", "nothing_of_that_name"),
        ({"net.py": CODE}, "invalid_file", "model"),
        ({"model.py": CODE, "../../evil.py": b""}, "path_traversal", "outside"),
        ({"model.py": CODE, "big": bytes(60 * 2**20)}, "archive_bomb", "unpack"),
        (None, "invalid_file", "damaged"),
    ],
)
def test_a_package_that_does_not_is_refused_and_frees_the_quota(cast, files, code, words):
    version = validated(cast, content=b"PK\x03\x04 broken" if files is None else zipped(files), kind="package")
    assert version["state"] == "refused"
    assert version["error"]["code"] == code
    assert words in version["error"]["message"]
    assert version["error"]["remedy"]
    assert used_bytes(cast.a) == 0
    assert version["downloads"]["package"] is None
    if code == "user_code":
        assert "model.py" in version["error"]["traceback"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "said", "remedy"),
    [
        ({"model.py": b"def build(h): pass"}, "模块 model 没有函数 build_model。", "请定义返回 torch.nn.Module 的"),
        ({"net.py": CODE}, "软件包没有模块 model；它有 net.py。", "请把 model.py 放在 zip 顶层"),
        ({"model.py": CODE, "requirements.txt": b"-x\n"}, "requirements.txt 第 1 行：它有选项 '-x'。", "只能写软件包"),
    ],
)
def test_a_refused_package_is_explained_in_the_language_of_the_request(cast, files, said, remedy):
    version = validated(cast, content=zipped(files), kind="package")
    address = f"/api/v1/model-versions/{version['id']}"
    chinese = cast.client(cast.bob).get(address, HTTP_ACCEPT_LANGUAGE="zh-CN").json()["error"]
    assert (chinese["code"], chinese["message"]) == (version["error"]["code"], said)
    assert chinese["remedy"].startswith(remedy)
    assert version["error"]["message"].isascii()


def test_hints_about_code_are_in_the_language_of_the_request(cast):
    version = validated(cast, filename="train.py", content=b'"""Trains."""\n', kind="script")
    address = f"/api/v1/model-versions/{version['id']}"
    contract = cast.client(cast.bob).get(address, HTTP_ACCEPT_LANGUAGE="zh-CN").json()["contract"]
    (hint,) = contract["hints"]
    assert "作业用一个 worker 训练" in hint
    assert contract["description"] == "Trains."


def test_a_version_that_the_platform_fails_to_validate_is_given_up_at_last(cast, tmp_path):
    (tmp_path / "sandbox").write_text("a file where the folder should be")
    version = upload(cast.client(cast.bob), cast.project_a).json()["latest_version"]["id"]
    for _ in range(MAX_TRIES):
        with pytest.raises(OSError, match="sandbox"):
            tasks.validate_version(version)
    tasks.validate_version(version)
    given_up = ModelVersion.objects.get()
    assert (given_up.state, given_up.error["code"]) == ("refused", "inspection_failed")


def test_the_sweep_queues_what_waited_too_long_in_no_queue(cast):
    bob = cast.client(cast.bob)
    upload(bob, cast.project_a, name="old")
    upload(bob, cast.project_a, name="new")
    WorkItem.objects.all().delete()
    old = ModelVersion.objects.get(model__name="old")
    ModelVersion.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(minutes=2))
    assert [tasks.sweep_unvalidated(), tasks.sweep_unvalidated()] == [1, 0]
    assert WorkItem.objects.waiting().values_list("task", "subject_id").get() == (VALIDATE, old.pk)
    assert tasks.validate_version.name == VALIDATE
