# SPDX-License-Identifier: Apache-2.0
"""Writes to webhooks, each with its audit event; for admins of the organisation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from mlhub.core.as_seen import require_as_seen
from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.core.ids import new_id
from mlhub.core.security.destinations import check_url
from mlhub.core.security.encryption import cipher
from mlhub.events.actions import append
from mlhub.events.changes import ChangeKind, report_change
from mlhub.events.models import Event
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.models import Organisation, User
from mlhub.tenants.roles import Role
from mlhub.webhooks import topics
from mlhub.webhooks.destinations import allowed_inside
from mlhub.webhooks.models import Delivery, DeliveryState, Webhook
from mlhub.webhooks.signing import new_secret

PURPOSE = "mlhub secrets of webhooks"  # part of the key
MAX_WEBHOOKS = 20  # of an organisation
MAX_WAITING_TESTS = 5


def create_webhook(organisation: Organisation, *, url: str, chosen: Sequence[str], actor: User) -> tuple[Webhook, str]:
    """Returns it and the secret that signs its deliveries, which is shown this once. Only later events count.

    Raises InvalidInputError, NotAllowedError.
    """
    require_role(actor, organisation, Role.ADMIN)
    check_url(url, allowed_inside())
    secret = new_secret()
    with transaction.atomic():
        Organisation.objects.select_for_update().get(pk=organisation.pk)
        if Webhook.objects.filter(organisation=organisation).count() >= MAX_WEBHOOKS:
            raise InvalidInputError(
                f"{organisation.name} has {MAX_WEBHOOKS} webhooks already.", field="url", remedy="Delete one first."
            )
        made: Webhook = Webhook.objects.create(
            organisation=organisation,
            url=url,
            topics=sorted(set(chosen)),
            encrypted_secret=cipher(PURPOSE).encrypt(secret.encode()),
            after_event_id=_newest_event(),
            created_by=actor,
        )
        _record("webhook.created", made, actor, after={"url": url, "topics": made.topics})
    return made, secret


def change_webhook(
    webhook: Webhook,
    *,
    url: str | None,
    chosen: Sequence[str] | None,
    is_active: bool | None,
    seen: Mapping[str, Any] | None = None,
    actor: User,
) -> Webhook:
    """None = as it is. One made active again is notified of what follows. seen: what the caller saw of it.

    Raises as create_webhook, and ConflictError with both versions when another person changed what was seen.
    """
    require_role(actor, webhook.organisation, Role.ADMIN)
    if url is not None:
        check_url(url, allowed_inside())
    with transaction.atomic():
        held = Webhook.objects.select_for_update(of=("self",)).select_related("organisation").get(pk=webhook.pk)
        before = _shown(held)
        asked = {"url": url, "topics": None if chosen is None else sorted(set(chosen)), "is_active": is_active}
        yours = {field: value for field, value in asked.items() if value is not None}
        require_as_seen("the webhook", seen=_sorted_topics(seen), present=before, yours=yours)
        held.url = held.url if url is None else url
        held.topics = held.topics if chosen is None else sorted(set(chosen))
        if is_active is not None and is_active != held.is_active:
            held.is_active = is_active
            held.disabled_reason = ""
            held.failing_since = None
            held.after_event_id = max(held.after_event_id, _newest_event()) if is_active else held.after_event_id
            if not is_active:
                give_up_waiting(held)
        held.save()
        if before != _shown(held):
            _record("webhook.changed", held, actor, before=before, after=_shown(held))
    found: Webhook = held
    return found


def delete_webhook(webhook: Webhook, *, actor: User) -> None:
    """With what was not delivered. Raises NotAllowedError."""
    require_role(actor, webhook.organisation, Role.ADMIN)
    with transaction.atomic():
        Webhook.objects.select_for_update().filter(pk=webhook.pk).first()  # before the lock of events, as everywhere
        Delivery.objects.filter(webhook=webhook).delete()
        if Webhook.objects.filter(pk=webhook.pk).delete()[0]:
            _record("webhook.deleted", webhook, actor, before={"url": webhook.url})


def send_test(webhook: Webhook, *, actor: User) -> Delivery:
    """A delivery that says only that it is a test. Raises ConflictError when the webhook is off, or tests pile up."""
    require_role(actor, webhook.organisation, Role.ADMIN)
    waiting = webhook.deliveries.filter(event_id=None, state=DeliveryState.WAITING).count()
    if not webhook.is_active or waiting >= MAX_WAITING_TESTS:
        raise ConflictError(
            "The webhook is off." if not webhook.is_active else f"{waiting} tests wait to be sent.",
            remedy="Turn it on first." if not webhook.is_active else "Wait until they were sent.",
        )
    now, pk = timezone.now(), new_id()
    body = topics.test_body(pk, webhook.organisation, at=now)
    made: Delivery = Delivery.objects.create(id=pk, webhook=webhook, topic=topics.TEST, body=body, due_at=now)
    report_change(ChangeKind.DELIVERY, organisation_id=webhook.organisation_id)
    return made


def send_again(delivery: Delivery, *, actor: User) -> Delivery:
    """One that ended is sent once more, under its id; one that waits for its next attempt is sent now.

    Raises ConflictError where it is about to be sent.
    """
    require_role(actor, delivery.webhook.organisation, Role.ADMIN)
    if not delivery.webhook.is_active:
        raise ConflictError("The webhook is off.", remedy="Turn it on first.")
    now, rows = timezone.now(), Delivery.objects.filter(pk=delivery.pk)
    later = rows.filter(state=DeliveryState.WAITING, due_at__gt=now)
    ended = rows.exclude(state=DeliveryState.WAITING)
    if not later.update(due_at=now) and not ended.update(
        state=DeliveryState.WAITING, n_attempts=0, due_at=now, ended_at=None
    ):
        raise ConflictError("It is about to be sent.", remedy="Wait some seconds until it was sent.")
    report_change(ChangeKind.DELIVERY, organisation_id=delivery.webhook.organisation_id)
    delivery.refresh_from_db()
    return delivery


def give_up_waiting(webhook: Webhook) -> None:
    """What waits to be sent when a webhook is turned off is not sent when it is turned on again."""
    waiting = Delivery.objects.filter(webhook=webhook, state=DeliveryState.WAITING)
    waiting.update(state=DeliveryState.FAILED, ended_at=timezone.now(), error="The webhook was turned off.")


def _newest_event() -> int:
    return Event.objects.aggregate(newest=Max("id"))["newest"] or 0


def _sorted_topics(seen: Mapping[str, Any] | None) -> dict[str, Any]:
    return {field: sorted(value) if field == "topics" else value for field, value in (seen or {}).items()}


def _shown(webhook: Webhook) -> dict[str, object]:
    return {"url": webhook.url, "topics": list(webhook.topics), "is_active": webhook.is_active}


def _record(kind: str, webhook: Webhook, actor: User, **facts: Any) -> None:
    append(
        kind,
        organisation=webhook.organisation,
        subject_kind="webhook",
        subject_id=webhook.pk,
        actor=actor,
        name=webhook.url,
        **facts,
    )
