# SPDX-License-Identifier: Apache-2.0
"""The sandbox's queue: organisations take turns, nothing is lost with a worker or a message, nothing is done twice."""

from __future__ import annotations

import threading
import uuid
from datetime import timedelta

import pytest
import redis
from django.db import connection
from django.utils import timezone

from mlhub.celery import app
from mlhub.datasets.models import DatasetVersion
from mlhub.storage import work_queue
from mlhub.storage.inspection import given_up
from mlhub.storage.models import WorkItem
from mlhub.storage.queue_position import QueuePosition, position_of
from mlhub.storage.tasks import sweep_work_queue, work_on_next, work_on_next_outgoing
from tests.cast import make_cast
from tests.datasets import files
from tests.datasets.test_uploads import upload

TASK = "tests.work"
QUEUE = "sandbox"


@pytest.fixture
def done(monkeypatch):
    """What the work of these tests was done on, in order; it fails on the subjects in `failing`."""
    found: list[uuid.UUID] = []

    class Work:
        failing: set[uuid.UUID] = set()

        @classmethod
        def run(cls, subject_id):
            if uuid.UUID(subject_id) in cls.failing:
                raise OSError("the disk is full")
            found.append(uuid.UUID(subject_id))

    app.finalize()
    monkeypatch.setitem(app.tasks, TASK, Work)
    return found, Work


def add(organisation, user, n=1, **more):
    return [
        work_queue.enqueue(TASK, uuid.uuid4(), organisation=organisation, user=user, **more).subject_id
        for _ in range(n)
    ]


def work_off(n):
    for _ in range(n):
        work_on_next()


@pytest.mark.slow
def test_the_one_upload_of_an_organisation_is_next_though_another_has_four_hundred_waiting(cast, done):
    many = add(cast.a, cast.bob, 400)
    work_off(2)
    one = add(cast.b, cast.charlie)
    work_off(2)
    assert done[0] == [*many[:2], one[0], many[2]]


def test_organisations_that_both_wait_take_turns(cast, done):
    a, b = add(cast.a, cast.bob, 4), add(cast.b, cast.charlie, 4)
    work_off(8)
    assert done[0] == [x for pair in zip(a, b, strict=True) for x in pair]


def test_who_has_less_under_way_is_next_though_served_later(cast, done):
    first, second = add(cast.a, cast.bob, 3), add(cast.b, cast.charlie, 2)
    with work_queue.next_item() as of_a, work_queue.next_item() as of_b:
        assert [of_a.subject_id, of_b.subject_id] == [first[0], second[0]]
        WorkItem.objects.filter(pk=of_b.pk).update(ended_at=timezone.now())
        with work_queue.next_item() as third:
            assert third.subject_id == second[1]


def test_users_of_one_organisation_take_turns(cast, done):
    bulk, one = add(cast.a, cast.bob, 30), add(cast.a, cast.alice)
    work_off(3)
    assert done[0] == [bulk[0], one[0], bulk[1]]


def test_of_one_user_what_is_interactive_comes_before_bulk(cast, done):
    large = add(cast.a, cast.bob, size_bytes=work_queue.LARGE_BYTES)
    dry_run = add(cast.a, cast.bob, is_bulk=True)
    many = add(cast.a, cast.bob, work_queue.INTERACTIVE_ITEMS + 1)
    small, bulk = many[: work_queue.INTERACTIVE_ITEMS], many[work_queue.INTERACTIVE_ITEMS :]
    work_off(len(small))
    later = add(cast.a, cast.bob)
    work_off(4)
    assert done[0] == [*small, *later, *large, *dry_run, *bulk]


def test_the_same_work_is_queued_once_and_may_be_queued_again_when_it_has_ended(cast, done):
    subject = uuid.uuid4()
    for _ in range(2):
        work_queue.enqueue(TASK, subject, organisation=cast.a, user=cast.bob)
    work_off(2)
    work_queue.enqueue(TASK, subject, organisation=cast.a, user=cast.bob)
    work_off(1)
    assert done[0] == [subject, subject]


def test_work_that_fails_by_the_platform_s_fault_goes_back_and_lets_others_pass(cast, done):
    found, work = done
    bad, good = add(cast.a, cast.bob, 2)
    work.failing = {bad}
    with pytest.raises(OSError, match="disk"):
        work_on_next()
    work_off(3)
    assert found == [good]
    work.failing = set()
    WorkItem.objects.filter(subject_id=bad).update(not_before=timezone.now())
    work_off(1)
    assert found == [good, bad]


def test_each_further_failure_of_the_platform_doubles_the_wait_up_to_ten_minutes(cast, monkeypatch):
    [subject] = add(cast.a, cast.bob)
    now = timezone.now()
    monkeypatch.setattr("mlhub.storage.work_queue.timezone.now", lambda: now)
    waits = []
    for _ in range(7):
        with pytest.raises(OSError, match="disk"), work_queue.next_item():
            raise OSError("the disk is full")
        until = WorkItem.objects.get(subject_id=subject).not_before
        waits.append((until - now).total_seconds())
        now = until
    assert waits == [30, 60, 120, 240, 480, 600, 600]


def test_what_a_killed_worker_left_is_done_again_and_what_is_under_way_is_not(transactional_db, settings, done):
    cast = make_cast()
    left, held = add(cast.a, cast.bob, 2)
    WorkItem.objects.filter(subject_id=left).update(started_at=timezone.now())  # as a worker that kill -9 ended
    began, may_end = threading.Event(), threading.Event()

    def other_worker():
        with work_queue.next_item():
            began.set()
            may_end.wait(120)
        connection.close()

    worker = threading.Thread(target=other_worker)
    worker.start()
    assert began.wait(120)
    try:
        assert work_queue.requeue_abandoned() == 1
        assert work_queue.requeue_abandoned() == 0
        assert WorkItem.objects.waiting().get().subject_id == left
        assert WorkItem.objects.running().get().subject_id == held
    finally:
        may_end.set()
        worker.join(120)
    work_off(2)
    assert done[0] == [left]


@pytest.mark.slow
def test_two_workers_that_choose_at_once_never_take_the_same_item(transactional_db, done):
    cast = make_cast()
    subjects = add(cast.a, cast.bob, 20) + add(cast.b, cast.charlie, 20)
    barrier = threading.Barrier(4)

    def worker():
        barrier.wait(120)
        work_off(12)
        connection.close()

    workers = [threading.Thread(target=worker) for _ in range(4)]
    for one in workers:
        one.start()
    for one in workers:
        one.join(60)
    assert sorted(done[0]) == sorted(subjects)


def test_messages_that_were_lost_are_replaced_until_all_is_done(transactional_db, settings, done):
    cast = make_cast()
    client = redis.Redis.from_url(settings.CELERY_BROKER_URL)
    add(cast.a, cast.bob, 3)
    client.delete(QUEUE)  # as if Valkey had lost its memory
    assert sweep_work_queue() == 3
    assert client.llen(QUEUE) == 3
    client.delete(QUEUE)
    work_on_next("chain")
    assert client.llen(QUEUE) == 1  # while something waits, each message sends another
    assert sweep_work_queue() == 0  # something was begun just now
    WorkItem.objects.update(started_at=None)
    work_off(2)
    work_on_next("chain")
    assert len(done[0]) == 3
    assert client.llen(QUEUE) == 1
    client.delete(QUEUE)
    client.close()


def test_what_calls_other_sites_is_done_by_the_process_for_it_alone(transactional_db, settings, done):
    cast = make_cast()
    client = redis.Redis.from_url(settings.CELERY_BROKER_URL)
    client.delete(QUEUE, "outgoing")
    [inside], [outside] = add(cast.a, cast.bob), add(cast.a, cast.bob, is_outgoing=True)
    assert (client.llen(QUEUE), client.llen("outgoing")) == (1, 1)
    work_off(2)
    assert done[0] == [inside]
    client.delete(QUEUE, "outgoing")
    assert sweep_work_queue() == 1  # of the one that waits, whose message was lost
    assert (client.llen(QUEUE), client.llen("outgoing")) == (0, 1)
    work_on_next_outgoing()
    assert done[0] == [inside, outside]
    client.delete("outgoing")
    client.close()


def test_ended_work_is_forgotten_after_an_hour(cast, done):
    add(cast.a, cast.bob, 2)
    work_off(2)
    WorkItem.objects.filter(pk=WorkItem.objects.first().pk).update(ended_at=timezone.now() - timedelta(hours=2))
    assert work_queue.forget_ended() == 1
    assert WorkItem.objects.count() == 1


def test_the_position_counts_what_comes_first_of_the_own_organisation_only(cast, done):
    add(cast.b, cast.charlie, 50)
    bulk, mine = add(cast.a, cast.bob, 5), add(cast.a, cast.alice, 2)
    expected = [bulk[0], mine[0], bulk[1], mine[1], *bulk[2:]]
    assert [position_of(s).n_before for s in expected] == list(range(7))
    with work_queue.next_item() as item:
        assert position_of(item.subject_id) == QueuePosition(is_running=True, n_before=0)
    assert position_of(uuid.uuid4()) is None


def test_why_the_platform_could_not_do_it_is_shown_while_it_is_tried_again(cast):
    [subject] = add(cast.a, cast.bob)
    with pytest.raises(OSError, match="nowhere"), work_queue.next_item():
        raise OSError("image: nowhere")
    assert position_of(subject) == QueuePosition(is_running=False, n_before=0, problem="image: nowhere")
    assert "image: nowhere" in given_up(subject)["message"]


@pytest.mark.slow
def test_an_upload_shows_its_place_until_it_was_inspected(cast):
    app.loader.import_default_modules()  # as a worker does when it starts: it knows all tasks by their names
    bob = cast.client(cast.bob)
    ids = [upload(bob, cast.project_a, name=f"d{i}", filename="x.txt", content=files.text()).json() for i in range(3)]
    last = f"/api/v1/dataset-versions/{ids[-1]['latest_version']['id']}"
    assert ids[-1]["latest_version"]["queue"] == {"is_running": False, "n_before": 2, "problem": ""}
    assert bob.get(last).json()["queue"] == {"is_running": False, "n_before": 2, "problem": ""}
    assert bob.get("/api/v1/datasets").json()["results"][0]["latest_version"]["queue"] is None
    assert cast.client(cast.charlie).get(last).status_code == 404
    bob.delete(f"/api/v1/datasets/{ids[0]['id']}")
    assert bob.get(last).json()["queue"]["n_before"] == 1
    work_off(2)
    assert bob.get(last).json()["queue"] is None
    assert set(DatasetVersion.objects.values_list("state", flat=True)) == {"ready"}


def test_an_upload_does_not_wait_for_the_dry_runs_of_other_organisations(cast, done):
    add(cast.a, cast.bob, 30, is_bulk=True)
    add(cast.b, cast.charlie, 2, is_bulk=True)
    work_off(1)
    upload = add(cast.a, cast.alice)
    work_off(1)
    assert done[0][1:] == upload


def test_of_two_workers_neither_class_of_work_has_both_while_the_other_one_waits(cast, done):
    uploads, dry_runs = add(cast.a, cast.bob, 3), add(cast.b, cast.charlie, 3, is_bulk=True)
    with work_queue.next_item() as first, work_queue.next_item() as second:
        assert {first.subject_id, second.subject_id} == {uploads[0], dry_runs[0]}
        WorkItem.objects.filter(pk=second.pk).update(ended_at=timezone.now())
        with work_queue.next_item() as third:
            assert third.subject_id == dry_runs[1]


def test_one_worker_does_bulk_work_now_and_then_though_uploads_never_end(cast, done):
    (dry_run,) = add(cast.b, cast.charlie, is_bulk=True)
    add(cast.a, cast.bob)
    for _ in range(work_queue.INTERACTIVE_STREAK + 1):
        add(cast.a, cast.bob)
        work_off(1)
    assert done[0].index(dry_run) == work_queue.INTERACTIVE_STREAK
