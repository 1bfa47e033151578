# SPDX-License-Identifier: Apache-2.0
"""Appending events: the only write this app has. An event is never changed and never removed."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection, transaction
from django.utils import timezone

from mlhub.core.locks import lock_key
from mlhub.core.web.origin import current_origin
from mlhub.events.chain import hash_of
from mlhub.events.models import ChainHead, Event
from mlhub.events.wakeups import EVENTS, access_topic, job_topic, wake_on_commit
from mlhub.tenants.models import Organisation, User

CHANGE_ACCESS = ("membership.", "role_binding.", "token.revoked", "session.ended", "user.", "organisation.deleted")


def append(
    kind: str,
    *,
    organisation: Organisation | None,
    subject_kind: str,
    subject_id: UUID | None,
    actor: User | None = None,
    at: datetime | None = None,
    **facts: Any,
) -> Event:
    """Appends an event in the present transaction, and wakes listeners once that commits.

    organisation: who may see it; None = platform administrators. actor: None = the platform itself. What a person does
    by a request carries its address and user agent, which origins.py shows to few.
    A lock is held from here to the commit, so that ids rise in the order of commits and a cursor passes over nothing:
    lock rows first, append last.
    """
    if actor is not None and actor.impersonated_by is not None:  # a read that is audited, such as an export
        actor, facts = actor.impersonated_by, facts | {"seen_as": actor.username}
    if actor is not None and (origin := current_origin()) is not None:
        facts = {"address": origin.address, "user_agent": origin.user_agent} | facts
    with transaction.atomic(savepoint=False):  # what fails here fails the transaction
        event = Event(
            organisation=organisation,
            kind=kind,
            subject_kind=subject_kind,
            subject_id=subject_id,
            actor=actor,
            at=at or timezone.now(),
            facts=json.loads(json.dumps(facts, cls=DjangoJSONEncoder)),
        )
        _link(event)
        wake_on_commit(*_topics(event))
    return event


# two statements, sent at once: the second one sees what was committed while the first one waited for the lock
NEXT = """SELECT pg_advisory_xact_lock(%s);
SELECT hash, nextval(pg_get_serial_sequence('events_event', 'id')) FROM events_chainhead WHERE id = 1"""
ADVANCE = "UPDATE events_chainhead SET hash = %s, n_events = n_events + 1 WHERE id = 1"


def _link(event: Event) -> None:
    """Stores the event as the newest of the chain, and takes the lock of events, which is why this is brief."""
    key = [lock_key("events")]
    with connection.cursor() as cursor:
        cursor.execute(NEXT, key)
        found = cursor.fetchone()
        if found is None:  # the first event of all
            ChainHead.objects.create(pk=1)
            cursor.execute(NEXT, key)
            found = cursor.fetchone()
        event.previous_hash, event.id = found
        event.hash = hash_of(event, event.previous_hash)  # the id is a part of it
        event.save(force_insert=True)
        cursor.execute(ADVANCE, [event.hash])


def _topics(event: Event) -> list[str]:
    """Whom an event wakes: all who follow events, who follows its job, and streams of the user whose access changed."""
    topics = [EVENTS]
    if event.subject_kind == "job" and event.subject_id:
        topics.append(job_topic(event.subject_id))
    if event.kind.startswith(CHANGE_ACCESS) and (user_id := event.facts.get("user_id")):
        topics.append(access_topic(user_id))
    return topics
