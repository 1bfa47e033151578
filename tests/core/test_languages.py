# SPDX-License-Identifier: Apache-2.0
"""What the platform says, in the language that a request asks for: English unless it asks for another one."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from babel.messages.mofile import write_mo
from hypothesis import given
from hypothesis import strategies as st

from deploy.local import texts
from mlhub.control.models import SchedulerSettings
from mlhub.core.languages.catalogue import Template, catalogue_of, without_formats
from mlhub.jobs.models import Job
from mlhub.wire.exits import Cause
from tests.cast import make_cast
from tests.control.worlds import World

CHINESE = {"HTTP_ACCEPT_LANGUAGE": "zh-CN"}
CATALOGUES = sorted(texts.LOCALES.glob(f"*/{texts.FILE}"))


def test_every_text_of_the_finished_groups_is_translated() -> None:
    wanted = texts.declared() | texts.of_errors(texts.FINISHED) | texts.of_inspections(texts.INSPECTING)
    assert CATALOGUES
    for path in CATALOGUES:
        assert texts.missing(texts.read(path), wanted) == [], "translate them: python deploy/local/texts.py"


def test_no_translation_names_a_placeholder_that_its_text_does_not_have() -> None:
    assert [texts.wrong(texts.read(path)) for path in CATALOGUES] == [[] for _ in CATALOGUES]


def test_the_compiled_catalogues_are_those_of_the_texts() -> None:
    for path in CATALOGUES:
        compiled = io.BytesIO()
        write_mo(compiled, texts.read(path))
        assert path.with_suffix(".mo").read_bytes() == compiled.getvalue(), "run: python deploy/local/texts.py"


def test_every_message_is_recognised_as_itself_when_it_is_finished() -> None:
    for path in CATALOGUES:
        catalogue = catalogue_of("zh-hans")
        assert catalogue is not None
        wrong = []
        for message in texts.read(path):
            if not message.id or message.context:
                continue
            values = {name: f"q{number}" for number, name in enumerate(sorted(texts.names_in(str(message.id))))}
            finished, said = (without_formats(str(one)).format(**values) for one in (message.id, message.string))
            wrong += [] if catalogue.translation_of(finished) == said else [finished]
        assert wrong == []


def test_texts_are_read_from_what_code_raises() -> None:
    code = """
REMEDY = "Ask for a larger one."
raise InvalidInputError(f"{name} has {len(rows):,} rows." if rows else "It is {empty}.", remedy=REMEDY)
"""
    assert set(texts._texts(code)) == {"{name} has {rows} rows.", "It is {{empty}}.", "Ask for a larger one."}


@pytest.fixture
def world() -> World:
    """Fifo on four GPUs, two a node."""
    found = World(make_cast(), now=datetime.now(UTC) - timedelta(seconds=60))
    SchedulerSettings.objects.update_or_create(pk=1, defaults={"policy": "fifo"})
    return found


def read(world: World, path: str, **headers: str) -> Any:
    return world.cast.client(world.cast.bob).get(f"/api/v1/{path}", **headers)


@pytest.mark.django_db
def test_why_a_job_waits_is_said_in_the_language_of_the_request_and_stored_in_english(world: World) -> None:
    world.job(name="running", min_workers=3, max_workers=3, steps_total=1_000_000)
    first = world.job(name="first", min_workers=2, max_workers=2)
    waiting = world.job(name="waiting", min_workers=4, max_workers=4)
    world.rounds(3)
    stored = Job.objects.get(pk=waiting.pk).explanations
    english, chinese = (read(world, f"jobs/{waiting.id}/why", **headers).json() for headers in ({}, CHINESE))
    assert english["explanations"] == stored
    assert english["headline"] == stored[0]["sentence"] == "Pending: 1 of 4 GPUs are free; it requests 4."
    assert chinese["headline"] == chinese["explanations"][0]["sentence"]
    assert chinese["headline"] == "等待中：4 个 GPU 中有 1 个空闲；它请求 4 个。"
    assert [one["facts"] for one in chinese["explanations"]] == [one["facts"] for one in english["explanations"]]
    ahead = chinese["analysis"]["ahead"]["jobs"][0]
    assert ahead["explanation"]["sentence"] == f"策略 fifo 先运行 {first.name}。"
    sentences = {one["kind"]: one["sentence"] for one in chinese["analysis"]["blockers"]}
    assert sentences["free_gpus"] == "空闲 GPU（cpu-slot 型）：4 个中的 1 个；它需要 4 个。"
    actions = {one["kind"]: one["sentence"] for one in chinese["analysis"]["actions"]}
    assert actions["pause_job"] == "暂停 running。"
    queue = read(world, "queue", **CHINESE).json()["results"]
    assert {one["explanations"][0]["sentence"][:4] for one in queue if one["explanations"]} == {"等待中："}


@pytest.mark.django_db
def test_names_are_not_translated_even_where_they_are_words_that_the_platform_uses(world: World) -> None:
    world.job(name="running", min_workers=4, max_workers=4, steps_total=1_000_000)
    world.job(name="jobs", min_workers=2, max_workers=2)
    waiting = world.job(name="waiting", min_workers=4, max_workers=4)
    world.rounds(3)
    analysis = read(world, f"jobs/{waiting.id}/why", **CHINESE).json()["analysis"]
    assert analysis["ahead"]["jobs"][0]["explanation"]["sentence"] == "策略 fifo 先运行 jobs。"


@pytest.mark.django_db
def test_the_cause_of_a_failure_is_translated_and_what_programs_printed_stays_as_it_is(world: World) -> None:
    failed = world.job(name="failed")
    cause = Cause.OUT_OF_MEMORY
    message = f"{cause.message} Rank 2 said {{so}}. It was tried 3 times."
    failure = {"cause": cause, "fault": "user", "field": None, "traceback": "Traceback {x}", "remedy": cause.remedy}
    failure["message"] = message
    Job.objects.filter(pk=failed.pk).update(state="failed", failure=failure, preflight="passed")
    assert read(world, f"jobs/{failed.id}").json()["failure"] == failure
    shown = read(world, f"jobs/{failed.id}", **CHINESE).json()["failure"]
    assert shown["message"] == "一个 pod 内存不足。Rank 2 said {so}. 已尝试 3 次。"
    assert shown["remedy"].startswith("使用更小的 batch_size")
    assert (shown["cause"], shown["traceback"]) == ("out_of_memory", "Traceback {x}")


@pytest.mark.django_db
def test_a_problem_is_described_in_the_language_of_the_request_with_the_same_code(world: World) -> None:
    path = f"jobs/{world.cast.a.pk}"
    english, chinese, german = (
        read(world, path, **headers) for headers in ({}, CHINESE, {"HTTP_ACCEPT_LANGUAGE": "de-DE,de"})
    )
    assert english.json()["detail"] == german.json()["detail"] == "There is nothing here that you may see."
    assert chinese.json()["detail"] == "这里没有您可以看到的内容。"
    assert (chinese.json()["code"], chinese.status_code) == (english.json()["code"], english.status_code)
    assert (chinese["Content-Language"], chinese["Vary"].count("Accept-Language")) == ("zh-hans", 1)
    assert "Content-Language" not in english


@pytest.mark.django_db
def test_fields_that_are_missing_are_named_in_the_language_of_the_request(world: World) -> None:
    answer = world.cast.client(world.cast.alice).post("/api/v1/projects", {"organisation": "A"}, **CHINESE)
    assert {one["field"]: one["message"] for one in answer.json()["errors"]}["name"] == "该字段是必填项。"
    again = world.cast.client(world.cast.alice).post("/api/v1/projects", {"organisation": "A"})
    assert {one["field"]: one["message"] for one in again.json()["errors"]}["name"] == "This field is required."


@pytest.mark.django_db
def test_a_form_is_refused_in_the_language_of_the_request(world: World) -> None:
    body = {"kind": "evaluation", "model_of": str(world.job(name="running").pk), "dataset": "digits"}
    client = world.cast.client(world.cast.bob)
    english, chinese = (client.post("/api/v1/jobs", body, **headers).json() for headers in ({}, CHINESE))
    assert english["errors"][0]["field"] == chinese["errors"][0]["field"]
    assert english["code"] == chinese["code"]
    assert any("一" <= sign <= "鿿" for sign in chinese["detail"])


@pytest.mark.django_db
def test_refusals_of_every_part_are_in_the_language_of_the_request(world: World) -> None:
    alice, root = world.cast.client(world.cast.alice), world.cast.client(world.cast.root)
    members = f"/api/v1/organisations/{world.cast.a.pk}/members"
    refused = {
        "只有平台管理员可以不经询问就添加成员。": alice.post(
            members, {"username": "dave", "role": "member"}, **CHINESE
        ),
        "只有平台管理员可以这样做。": alice.put("/api/v1/scheduler/admission-pause", {"reason": "x"}, **CHINESE),
        "请向作业正在等待的用户说明原因。": root.put("/api/v1/scheduler/admission-pause", {}, **CHINESE),
        "已有名为 vision 的项目。": alice.post(
            "/api/v1/projects", {"organisation": str(world.cast.a.pk), "name": "vision"}, **CHINESE
        ),
        "没有节点 nowhere。": root.post("/api/v1/cluster/nodes/nowhere/drain", {}, **CHINESE),
    }
    for text, answer in refused.items():
        problem = answer.json()
        assert answer.status_code >= 400
        assert text in problem.get("detail", "") + problem.get("message", ""), problem


@given(st.dictionaries(st.sampled_from(["name", "count"]), st.text(max_size=30), min_size=2))
def test_a_text_that_was_made_from_a_template_is_recognised_whatever_fills_it(values: dict[str, str]) -> None:
    template = Template.of("The project {name} has {count} jobs.", "")
    text = "The project {name} has {count} jobs.".format(**values)
    found = template.values_in(text)
    assert found is not None
    assert "The project {name} has {count} jobs.".format(**found) == text


def test_long_hostile_text_is_left_alone_in_little_time() -> None:
    chinese = catalogue_of("zh-hans")
    assert chinese is not None
    for text in ("{" * 3000, " of ".join(["a"] * 900), "x" * 100_000, "{0} {a.b} %s"):
        assert chinese.translation_of(text) in (None, text)
