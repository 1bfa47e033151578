# SPDX-License-Identifier: Apache-2.0
"""Tasks are sent once the transaction commits; a broker that is away delays them, it fails nothing."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
import redis
from django.db import transaction

from mlhub.celery import app
from mlhub.core.dispatch import send, send_on_commit

QUEUE = "celery"


@pytest.fixture
def queue(settings, transactional_db):
    client = redis.Redis.from_url(settings.CELERY_BROKER_URL)
    client.delete(QUEUE)
    yield lambda: [json.loads(m)["headers"] for m in client.lrange(QUEUE, 0, -1)]
    client.delete(QUEUE)
    client.close()


def test_a_task_is_sent_after_the_commit_and_not_before(queue):
    with transaction.atomic():
        send_on_commit("rooms.tasks.work", "7")
        assert queue() == []
    assert [(h["task"], h["argsrepr"]) for h in queue()] == [("rooms.tasks.work", "('7',)")]


def test_a_task_of_a_rolled_back_transaction_is_never_sent(queue):
    with suppress(RuntimeError), transaction.atomic():
        send_on_commit("rooms.tasks.work", "7")
        raise RuntimeError
    assert queue() == []


def test_a_broker_that_is_away_fails_no_request(queue, monkeypatch):
    monkeypatch.setattr(app.conf, "broker_write_url", None)  # before the other, of which it is read when it is not set
    monkeypatch.setattr(app.conf, "broker_url", "redis://127.0.0.1:1/0")
    with transaction.atomic():
        send_on_commit("rooms.tasks.work", "7")
    assert send("rooms.tasks.work", "7") is False
    assert queue() == []
