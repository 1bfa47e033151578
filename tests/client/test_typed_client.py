# SPDX-License-Identifier: Apache-2.0
"""The typed client against a live server: pages, uploads, refusals, and what a notebook shows."""

from __future__ import annotations

import asyncio
import pickle
import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlhub.client import (
    Absent,
    AsyncClient,
    BadRequest,
    Client,
    Conflicting,
    NotAllowed,
    NotSignedIn,
    ProgressLine,
    Refused,
    Unfinished,
    by_name,
)
from mlhub.client.asynchronous import transport as async_transport
from mlhub.client.synchronous import transport
from mlhub.experiments.models import Study
from mlhub.tenants.actions import create_token
from mlhub.tenants.models import Project
from tests.cast import Cast, make_cast
from tests.experiments.training import study_of
from tests.jobs.builders import builtin, job, ready_dataset

pytestmark = pytest.mark.django_db(transaction=True)
HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)>'


@pytest.fixture
def cast(transactional_db: None) -> Cast:
    return make_cast()


def token_of(user: Any, *scopes: str) -> str:
    return str(create_token(user, name="sdk", scopes=list(scopes or ("read", "write")), expires_in_days=1)[1])


@pytest.fixture
def bob(cast: Cast, live_server: Any) -> Client:
    return Client(live_server.url, token_of(cast.bob))


@pytest.mark.slow
def test_a_list_of_250_jobs_is_gone_through_page_by_page(cast: Cast, bob: Client, live_server: Any) -> None:
    expected = {str(job(cast.project_a, cast.bob, name=f"job {i}").pk) for i in range(250)}
    requests: list[str] = []
    bob.transport._http.event_hooks["request"].append(lambda request: requests.append(request.url.path))
    found = [row.id for row in bob.jobs.list()]
    assert len(found) == 250
    assert set(found) == expected
    assert len(requests) == 3
    requests.clear()
    assert [row.id for row in bob.jobs.list(page_size=10).first(15)] == found[:15]
    assert len(requests) == 2
    assert bob.jobs.list(state=["running"]).all() == []

    token = token_of(cast.bob)

    async def run() -> list[str]:
        async with AsyncClient(live_server.url, token) as client:
            return [row.id async for row in client.jobs.list(page_size=60)]

    assert asyncio.run(run()) == found


def test_what_has_a_name_is_found_followed_and_changed_by_it(cast: Cast, bob: Client) -> None:
    made = job(cast.project_a, cast.bob, name="50% tour")
    dataset = ready_dataset(cast.project_a, cast.bob)
    assert bob.jobs.get(by_name("50% tour")).id == str(made.pk)
    assert [row.id for row in bob.datasets.list_versions(by_name("blobs"), project="vision")] == [str(dataset.pk)]
    assert bob.jobs.cancel(by_name("50% tour")).intent == "cancel"
    assert list(bob.jobs.logs(by_name("50% tour"))) == []
    with pytest.raises(Unfinished):
        bob.jobs.wait(by_name("50% tour"), timeout_s=60)
    again = job(cast.project_a, cast.bob, name="50% tour")
    with pytest.raises(Conflicting) as refused:
        bob.jobs.get(by_name("50% tour"))
    assert refused.value.code == "ambiguous_name"
    assert [one["id"] for one in refused.value.problem["candidates"]] == [str(again.pk), str(made.pk)]
    with pytest.raises(BadRequest, match=str(dataset.dataset_id)):
        bob.datasets.delete(by_name("blobs"))
    with pytest.raises(Absent):
        bob.projects.get(by_name("language"))
    speech = Project.objects.create(organisation=cast.a, name="speech")
    there = job(speech, cast.bob, name="50% tour", state="succeeded")
    assert bob.jobs.wait(by_name("50% tour"), project="speech").id == str(there.pk)
    assert list(bob.jobs.logs(by_name("50% tour"), follow=True, project="speech")) == []
    assert list(bob.jobs.follow(by_name("50% tour"), project="speech", organisation="A")) == []
    with pytest.raises(Conflicting):
        list(bob.jobs.follow(by_name("50% tour")))


@pytest.mark.slow
def test_a_job_is_submitted_once_changed_explained_and_cancelled(cast: Cast, bob: Client) -> None:
    ready_dataset(cast.project_a, cast.bob)
    options: dict[str, Any] = {"dataset": "blobs", "model": builtin().model.name, "epochs": 3, "name": "first"}
    made = bob.jobs.submit(**options, idempotency_key="one")
    assert bob.jobs.submit(**options, idempotency_key="one").id == made.id
    assert (made.state, made.epochs, made.created_by.username, made.project.id) == (
        "queued", 3, "bob", str(cast.project_a.pk),
    )  # fmt: skip
    assert isinstance(made.submitted_at, datetime)
    assert made.submitted_at.tzinfo is not None
    assert made.finished_at is None
    assert bob.jobs.update(made, tags=["a", "b"]).tags == ["a", "b"]
    assert {tag.tag for tag in bob.job_tags.list()} == {"a", "b"}
    assert bob.jobs.why(made).as_dict()
    assert list(bob.jobs.logs(made)) == []
    assert [event.kind for event in bob.jobs.list_events(made)]
    assert bob.jobs.cancel(made).state == "cancelled"
    assert list(bob.jobs.logs(made, follow=True)) == []
    assert list(bob.jobs.follow(made)) == []
    bob.jobs.delete(made)
    with pytest.raises(Absent):
        bob.jobs.get(made)


def test_waiting_reports_each_state_and_ends_with_the_time(cast: Cast, live_server: Any) -> None:
    lines: list[str] = []
    client = Client(live_server.url, token_of(cast.bob), progress=lines.append)
    row = job(cast.project_a, cast.bob, name="slow")
    with pytest.raises(TimeoutError, match="slow: queued"):
        client.jobs.wait(row.pk, timeout_s=0.1)
    assert lines == ["slow: queued"]


def test_what_the_api_refuses_is_of_its_class(cast: Cast, bob: Client, live_server: Any) -> None:
    with pytest.raises(BadRequest) as found:
        bob.jobs.submit(dataset="blobs", model="mlp", epochs=-1)
    assert (found.value.field, found.value.status) == ("epochs", 422)
    with pytest.raises(NotAllowed):
        bob.organisations.update(cast.a, name="Mine")
    with pytest.raises(NotAllowed):
        Client(live_server.url, token_of(cast.bob, "read")).jobs.submit(dataset="blobs", model="mlp")
    with pytest.raises(NotSignedIn):
        Client(live_server.url, "mlh_wrong").auth.me()
    ready_dataset(cast.project_a, cast.bob)
    live = job(cast.project_a, cast.bob)
    with pytest.raises(Conflicting) as conflict:
        bob.jobs.delete(live.pk)
    assert conflict.value.code == "job_live"


def test_another_tenant_finds_nothing(cast: Cast, live_server: Any) -> None:
    charlie = Client(live_server.url, token_of(cast.charlie))
    row = job(cast.project_a, cast.bob)
    assert charlie.jobs.list().all() == []
    for call in (charlie.jobs.get, charlie.jobs.cancel, charlie.jobs.why, charlie.jobs.wait):
        with pytest.raises(Absent):
            call(row.pk)
    with pytest.raises(Absent):
        list(charlie.jobs.logs(row.pk, follow=True))


@pytest.mark.slow
def test_files_small_and_large_arrive_whole(
    cast: Cast, bob: Client, live_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez(tmp_path / "blobs.npz", x=np.zeros((20, 3), np.float32), y=np.arange(20) % 2)
    content = (tmp_path / "blobs.npz").read_bytes()
    small = bob.datasets.create(name="small", project="vision", file=tmp_path / "blobs.npz", format="npz")
    version = small.latest_version
    assert version is not None
    assert [(f.name, f.size_bytes) for f in version.files] == [("blobs.npz", len(content))]
    assert bob.dataset_versions.download(version, to=tmp_path / "back.npz").read_bytes() == content
    for module in (transport, async_transport):
        monkeypatch.setattr(module, "FROM_BYTES", 100)
    lines: list[str] = []
    bob.transport.progress = lines.append
    second = bob.datasets.create_version(small, file=("large.npz", content))
    assert second.number == 2
    assert lines == ["Uploading large.npz: 0%", "Uploading large.npz: 100%"]
    assert bob.uploads.list().all() == []
    assert bob.datasets.create_version(by_name("small"), project="vision", file=("x.npz", content)).number == 3
    monkeypatch.setattr(transport, "FROM_BYTES", 10**9)
    assert bob.datasets.create_version(by_name("small"), project="vision", file=("x.npz", content)).number == 4

    table = tmp_path / "third.csv"
    table.write_text("a,b,c,y\n" + "1,2,3,4\n" * 40)
    token = token_of(cast.bob)

    async def run() -> str:
        async with AsyncClient(live_server.url, token) as client:
            with table.open("rb") as file:
                made = await client.datasets.create(
                    name="third", project="vision", file=file, target="y", ignore=["a", "b"]
                )
            assert made.latest_version is not None
            assert made.latest_version.options["ignore"] == ["a", "b"]
            target = await client.dataset_versions.download(made.latest_version, to=tmp_path / "back.csv")
            return str(target)

    assert Path(asyncio.run(run())).read_bytes() == table.read_bytes()
    with pytest.raises(FileNotFoundError):
        bob.datasets.create(name="none", project="vision", file=tmp_path / "absent.npz")


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.slow
def test_hostile_names_stay_text_in_a_notebook(cast: Cast, bob: Client) -> None:
    row = job(cast.project_a, cast.bob, name=HOSTILE, notes=HOSTILE, tags=[HOSTILE])
    shown = [
        bob.jobs.list().first(5)._repr_html_(),
        bob.jobs.get(row.pk)._repr_html_(),
        bob.jobs.list().first(1)[0]._repr_html_(),
    ]
    for html in shown:
        tags = Tags()
        tags.feed(html)
        assert tags.found <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
        assert tags.attributes == {"style"}
        assert "&lt;script&gt;" in html
    assert HOSTILE in repr(bob.jobs.get(row.pk))
    assert bob.jobs.list(state=["running"]).all()._repr_html_() == "<p>No rows.</p>"


@pytest.mark.slow
def test_answers_are_values(cast: Cast, bob: Client) -> None:
    row = job(cast.project_a, cast.bob)
    found = bob.jobs.get(row.pk)
    assert found == pickle.loads(pickle.dumps(found))
    assert found != bob.jobs.list().first()[0]
    assert bob.jobs.get(str(row.pk)).project == bob.jobs.get(found).project
    assert len({found.project, bob.jobs.get(found).project}) == 1
    assert {"id", "state", "submitted_at"} <= set(dir(found))
    assert found.submitted_at <= datetime.now(UTC)
    with pytest.raises(AttributeError, match="has no field `nam`"):
        found.nam  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match="do not change"):
        found.state = "failed"
    part = bob.jobs.list(fields="id,name").first()[0]
    assert part.name == row.name
    with pytest.raises(AttributeError, match="`fields` left it out"):
        part.state  # noqa: B018
    assert re.fullmatch(r"<rows of /jobs: .*>", repr(bob.jobs.list()))


def test_a_progress_line_has_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    show = ProgressLine()
    show("job \x1b[2J\r: running")
    assert capsys.readouterr().err == "job  [2J : running\n"


def test_a_token_is_taken_from_a_file_with_its_line_end_and_a_broken_one_is_not_shown(
    cast: Cast, live_server: Any
) -> None:
    token = token_of(cast.bob)
    assert Client(live_server.url, f"{token}\n").organisations.list().first(1)
    for broken in (f"{token[:20]}\n{token[20:]}", f"{token}\u00a0\u2026"):
        with pytest.raises(NotSignedIn) as refused:
            Client(live_server.url, broken)
        assert token[8:20] not in str(refused.value)
        assert refused.value.remedy


def test_a_study_that_failed_says_why(cast: Cast, bob: Client) -> None:
    study = study_of(cast)
    Study.objects.filter(pk=study.pk).update(state="failed", reason="No trial reports the metric eval/acuracy.")
    with pytest.raises(Refused, match="eval/acuracy"):
        bob.studies.wait(study.pk)
