# SPDX-License-Identifier: Apache-2.0
"""Fetches take turns: a slow address does not hold up other fetches; what came is neither lost nor left behind."""

from __future__ import annotations

import hashlib
import uuid

import pytest

from mlhub.core.errors import UnavailableError
from mlhub.datasets import fetching, references, tasks
from mlhub.datasets.models import DatasetVersion
from mlhub.datasets.sources import downloads, turns
from mlhub.storage import work_queue
from mlhub.storage.actions import used_bytes
from mlhub.storage.models import WorkItem
from mlhub.storage.spools import DiskSpool
from mlhub.storage.stores import blob_store
from mlhub.storage.tasks import work_on_next_outgoing
from mlhub.tenants.actions import set_quota
from tests.datasets import files
from tests.datasets.file_server import file_server

assert tasks.fetch_version  # registered with Celery
LARGE = files.csv(60_000)  # more than is read at once, so that a turn ends within it
SMALL = files.csv(40)


@pytest.fixture
def server(settings, monkeypatch):
    """With turns that are over as soon as some bytes came."""
    settings.DATA_ALLOW = ["127.0.0.1"]
    monkeypatch.setattr(fetching, "FIRST_WAIT_S", 0.0)
    monkeypatch.setattr(turns, "TURN_S", 0.0)
    monkeypatch.setattr(downloads, "REPORTED_EVERY_S", 0.0)
    with file_server(LARGE) as found:
        found.files = {"/large.csv": LARGE, "/small.csv": SMALL}
        yield found


def refer(cast, server, name="large", *, by="bob", project=None, suffix="csv"):
    body = {
        "name": f"d-{uuid.uuid4().hex[:6]}",
        "project": str((project or cast.project_a).id),
        "source": {"uri": f"{server.url}/{name}.{suffix}"},
    }
    answer = cast.client(getattr(cast, by)).post("/api/v1/datasets/references", body, format="json")
    assert answer.status_code == 201, answer.json()
    return DatasetVersion.objects.get(pk=answer.json()["latest_version"]["id"])


def now(version):
    version.refresh_from_db()
    return version


def turn():
    work_on_next_outgoing()


def spooled_bytes(version):
    return blob_store().spool().size(version.pk)


def nothing_is_left(version):
    staged = list(blob_store().staging.glob("*"))
    return spooled_bytes(version) == 0 and staged == [] and not now(version).source["partial"]


def test_a_large_file_makes_room_for_another_organisation_and_goes_on_where_it_was(cast, server):
    large = refer(cast, server)
    small = refer(cast, server, "small", by="charlie", project=cast.project_b)
    turn()
    assert (now(large).state, now(small).state) == ("fetching", "fetching")
    came = spooled_bytes(large)
    assert 0 < came < len(LARGE)
    assert large.source["progress"] == {"fetched_bytes": came, "total_bytes": len(LARGE)}
    turn()
    assert now(small).state == "inspecting"
    turn()
    assert now(large).state == "inspecting"
    assert server.ranges() == ["", "", f"bytes={came}-"]
    assert large.files[0]["sha256"] == hashlib.sha256(LARGE).hexdigest()
    assert nothing_is_left(large)
    assert used_bytes(cast.a) == len(LARGE)
    with blob_store().open(large.files[0]["sha256"]) as file:
        assert file.read() == LARGE


def test_without_others_that_wait_a_file_is_fetched_in_one_turn(cast, server):
    large = refer(cast, server)
    turn()
    assert (now(large).state, len(server.requests)) == ("inspecting", 1)


def test_turns_are_no_tries_that_broke_off(cast, server):
    large = refer(cast, server)
    for _ in range(fetching.MAX_FETCHES + 2):
        refer(cast, server, "small", by="charlie", project=cast.project_b)
        turn()
        assert now(large).state == "fetching"
        turn()
    assert large.source["n_fetches"] == 0
    turn()
    assert now(large).state == "inspecting"
    assert large.files[0]["sha256"] == hashlib.sha256(LARGE).hexdigest()


def test_a_turn_counts_when_the_next_fetch_is_chosen_though_the_other_one_had_been_put_off(cast, server, settings):
    large = refer(cast, server)
    small = refer(cast, server, "small", by="charlie", project=cast.project_b)
    settings.FETCHES_AT_ONCE = 0
    WorkItem.objects.filter(subject_id=large.pk).update(not_before="2999-01-01T00:00Z")
    turn()  # finds no place, as while the large one is under way
    assert WorkItem.objects.get(subject_id=small.pk).not_before is not None
    settings.FETCHES_AT_ONCE = 1
    WorkItem.objects.filter(subject_id=large.pk).update(not_before=None)
    turn()
    assert spooled_bytes(large) > 0
    turn()
    assert (now(small).state, now(large).state) == ("inspecting", "fetching")


@pytest.mark.parametrize("how", ["no tag", "weak tag", "no ranges"])
def test_a_file_that_cannot_be_continued_is_begun_anew_once_and_then_fetched_to_its_end(cast, server, how):
    server.has_etag = how == "no ranges"
    server.has_ranges = how != "no ranges"
    if how == "weak tag":
        server.answer_headers = {"ETag": 'W/"1"', "Last-Modified": "Mon, 02 Nov 2026 10:00:00 GMT"}
    large = refer(cast, server)
    others = [refer(cast, server, "small", by="charlie", project=cast.project_b) for _ in range(6)]
    for _ in range(5):
        turn()
    assert now(large).state == "inspecting"
    assert large.files[0]["sha256"] == hashlib.sha256(LARGE).hexdigest()
    assert len([path for path, _ in server.requests if path == "/large.csv"]) <= 3
    assert "fetching" in {now(other).state for other in others}
    assert nothing_is_left(large)


def test_a_file_that_changes_between_two_turns_is_refused_and_nothing_of_it_stays(cast, server):
    large = refer(cast, server)
    refer(cast, server, "small", by="charlie", project=cast.project_b)
    turn()
    server.files["/large.csv"] = LARGE[::-1]
    turn()
    turn()
    assert (now(large).state, large.error["code"]) == ("refused", "changed")
    assert nothing_is_left(large)


def test_the_time_of_all_turns_counts_against_the_limit(cast, server, settings):
    large = refer(cast, server)
    refer(cast, server, "small", by="charlie", project=cast.project_b)
    turn()
    turn()
    assert references.keep_source(now(large), partial={**large.source["partial"], "used_s": settings.FETCH_TIMEOUT_S})
    turn()
    assert (now(large).state, large.error["code"]) == ("refused", "too_slow")
    assert nothing_is_left(large)


def test_bytes_that_the_spool_lost_are_fetched_again(cast, server):
    large = refer(cast, server)
    refer(cast, server, "small", by="charlie", project=cast.project_b)
    turn()
    turn()
    blob_store().spool().discard(large.pk)
    turn()
    assert (now(large).state, server.ranges()) == ("inspecting", ["", "", ""])
    assert large.files[0]["sha256"] == hashlib.sha256(LARGE).hexdigest()


def test_a_full_store_at_the_end_of_a_turn_costs_that_turn_alone(cast, server, monkeypatch):
    def full(*_, **__):
        raise UnavailableError("full")

    large = refer(cast, server)
    refer(cast, server, "small", by="charlie", project=cast.project_b)
    with monkeypatch.context() as patched:
        patched.setattr(DiskSpool, "append", full)
        with pytest.raises(UnavailableError):
            turn()
    assert (now(large).state, large.source["n_fetches"], nothing_is_left(large)) == ("fetching", 0, True)
    WorkItem.objects.update(not_before=None)
    for _ in range(3):
        turn()
    assert now(large).state == "inspecting"


def test_bytes_between_two_turns_count_against_the_quota_of_other_fetches_and_go_with_their_version(
    cast, server, django_capture_on_commit_callbacks
):
    set_quota(cast.a, max_storage_bytes=len(LARGE) + len(SMALL) - 1, actor=cast.root)
    large, small = refer(cast, server), refer(cast, server, "small")
    turn()
    assert spooled_bytes(large) > 0
    assert references.keep_source(now(large), partial={**large.source["partial"], "n_bytes": len(LARGE)})
    turn()
    assert (now(small).state, small.error["code"]) == ("refused", "too_large")
    with django_capture_on_commit_callbacks(execute=True):
        assert cast.client(cast.bob).delete(f"/api/v1/datasets/{large.dataset_id}").status_code == 204
    assert spooled_bytes(large) == 0


def test_a_version_that_is_deleted_while_its_turn_ends_leaves_no_bytes(cast, server, monkeypatch):
    large = refer(cast, server)
    refer(cast, server, "small", by="charlie", project=cast.project_b)
    append = DiskSpool.append

    def delete_meanwhile(*arguments, **more):
        append(*arguments, **more)
        DatasetVersion.objects.filter(pk=large.pk).delete()

    monkeypatch.setattr(DiskSpool, "append", delete_meanwhile)
    turn()
    assert spooled_bytes(large) == 0


def test_a_shard_makes_room_within_itself(cast, server):
    server.files |= {f"/part-{i}.tar": LARGE for i in range(2)}
    shards = refer(cast, server, "part-{0..1}", suffix="tar")
    small = refer(cast, server, "small", by="charlie", project=cast.project_b)
    turn()
    came = spooled_bytes(shards)
    assert 0 < came < len(LARGE)
    turn()
    turn()
    assert (now(small).state, now(shards).state) == ("inspecting", "inspecting")
    assert f"bytes={came}-" in server.ranges()
    assert {one["sha256"] for one in shards.files} == {hashlib.sha256(LARGE).hexdigest()}
    assert nothing_is_left(shards)


def test_work_whose_turn_is_over_goes_behind_all_other_of_its_user(cast, monkeypatch):
    from mlhub.celery import app

    done = []

    class Work:
        @staticmethod
        def run(subject_id):
            done.append(subject_id)
            if len(done) == 1:
                raise work_queue.TurnOverError

    app.finalize()
    monkeypatch.setitem(app.tasks, "tests.work", Work)
    first, second = (
        str(
            work_queue.enqueue(
                "tests.work", uuid.uuid4(), organisation=cast.a, user=cast.bob, is_outgoing=True
            ).subject_id
        )
        for _ in range(2)
    )
    for _ in range(3):
        turn()
    assert done == [first, second, first]
    assert not WorkItem.objects.open().exists()
