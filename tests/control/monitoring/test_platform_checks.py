# SPDX-License-Identifier: Apache-2.0
"""The checks of the installation by the API: for administrators, within their time, without secrets."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from mlhub.control.monitoring import platform_checks
from mlhub.embedded.checks import doctor
from mlhub.embedded.checks.examiner import CheckResult
from tests.cast import Cast, make_cast
from tests.embedded.test_doctor import CHECKS

pytestmark = pytest.mark.django_db
PATH = "/api/v1/platform/checks"
PING_S = doctor.PING_S


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture(autouse=True)
def _no_platform_here(settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    settings.PUBLIC_URL, settings.MLHUB_HOME = "http://127.0.0.1:1", tmp_path
    monkeypatch.setattr(doctor, "PING_S", 0.2)  # no worker runs
    monkeypatch.setattr(doctor, "check_sandbox", lambda _: CheckResult("sandbox", True, "Works."))


def found(cast: Cast, **headers: str) -> dict[str, dict[str, str]]:
    answer = cast.client(cast.root).post(PATH, headers=headers)
    assert answer.status_code == 200, answer.json()
    return {check["name"]: check for check in answer.json()["checks"]}


def test_each_check_says_how_it_stands_what_that_means_and_what_to_do(cast: Cast) -> None:
    checks = found(cast)
    assert list(checks) == CHECKS
    assert all(check["meaning"] and check["detail"] for check in checks.values())
    assert {check["state"] for check in checks.values()} <= {"ok", "problem"}
    assert checks["sandbox"] | {"meaning": ""} == {
        "name": "sandbox", "state": "ok", "meaning": "", "detail": "Works.", "remedy": "",
    }  # fmt: skip
    assert (checks["web"]["state"], checks["rounds"]["state"]) == ("problem", "problem")
    assert all(bool(check["remedy"]) == (check["state"] != "ok") for check in checks.values())


def test_a_missing_worker_is_found_within_the_time_of_the_answer_by_the_doctor_s_own_patience(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    def nobody_answers(*_: Any, timeout: float, **__: Any) -> list[Any]:
        waited.append(timeout)
        return []

    monkeypatch.setattr(doctor, "PING_S", PING_S)
    monkeypatch.setattr(doctor.Mailbox, "multi_call", nobody_answers)
    assert found(cast)["workers"]["state"] == "problem"
    assert waited[0] + doctor.TIMEOUT_S / 2 <= platform_checks.LIMIT_S


def test_they_are_for_administrators(cast: Cast) -> None:
    for user in (cast.alice, cast.bob, cast.charlie):
        refused = cast.client(user).post(PATH)
        assert (refused.status_code, refused.json()["code"]) == (403, "administrator_needed")
    assert cast.client(None).post(PATH).status_code in (401, 403)
    assert cast.client(cast.root).get(PATH).status_code == 405


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[threading.Event]]:
    began: list[threading.Event] = []
    is_over = threading.Event()

    def hang(_: Any) -> CheckResult:
        began.append(is_over)
        is_over.wait()
        return CheckResult("disk", True, "At last.")

    monkeypatch.setattr(platform_checks, "LIMIT_S", 1.0)
    monkeypatch.setattr(doctor, "check_disk", hang)
    yield began
    is_over.set()


def test_one_that_hangs_costs_itself_and_is_not_begun_again(cast: Cast, hanging: list[threading.Event]) -> None:
    for _ in range(2):
        checks = found(cast)
        assert checks["disk"]["state"] == "unknown"
        assert "has not answered for" in checks["disk"]["detail"]
        assert "mlhub doctor" in checks["disk"]["remedy"]
        assert checks["sandbox"]["state"] == "ok"
    assert len(hanging) == 1
    hanging[0].set()
    assert found(cast)["disk"]["detail"] == "At last."


def test_one_that_fails_costs_itself_and_says_no_more_than_its_kind(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Any) -> CheckResult:
        raise RuntimeError("postgresql://mlhub:s3cret@db")

    monkeypatch.setattr(doctor, "check_disk", fail)
    checks = found(cast)
    assert (checks["disk"]["state"], checks["disk"]["detail"]) == ("unknown", "The check itself failed: RuntimeError.")
    assert checks["folder"]["state"] in ("ok", "problem")


@pytest.mark.parametrize(
    "database_url",
    [
        "postgresql://mlhub:s3cret@127.0.0.1:1/x", "postgresql://mlhub:s3cret@127.0.0.1:port/x",
        "postgre://mlhub:s3cret@127.0.0.1/x", "postgresql://mlhub:s3cret@[127.0.0.1/x",
        "postgresql://mlhub:s3cre%74@127.0.0.1:1/x?nonsense=1",
    ],
)  # fmt: skip
def test_no_password_is_in_an_answer(cast: Cast, settings: Any, database_url: str) -> None:
    settings.DATABASE_URL = database_url
    settings.REDIS_URL = "rediss://:s3cret@127.0.0.1:1/0" if "port" in database_url else "reds://:s3cret@127.0.0.1:1/0"
    checks = found(cast)
    assert (checks["database"]["state"], checks["valkey"]["state"]) == ("problem", "problem")
    assert "s3cre" not in str(checks)


def test_pods_elsewhere_are_not_checked_on_the_machine_of_the_web_server(cast: Cast, settings: Any) -> None:
    settings.BACKEND = "kubernetes"
    assert list(found(cast)) == ["database", "valkey", "workers", "audit", "clock", "web", "rounds", "nodes", "disk"]


def test_texts_are_in_chinese_for_chinese_readers(cast: Cast) -> None:
    disk = found(cast, **{"accept-language": "zh"})["disk"]
    assert disk["meaning"] == "数据集、模型、检查点和数据库都在其上增长；磁盘写满后，作业和上传都会失败。"
    assert "可用" in disk["detail"]
