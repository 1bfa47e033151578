# SPDX-License-Identifier: Apache-2.0
"""Deliveries: made from events, sent at least once, tried again for about two days, and written down."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import httpx
import structlog
from cryptography.fernet import InvalidToken
from django.db import transaction
from django.utils import timezone

from mlhub._version import __version__
from mlhub.core.security.certificates import public_authorities
from mlhub.core.security.destinations import Destination, DestinationError, resolve
from mlhub.core.security.encryption import cipher
from mlhub.events.actions import append
from mlhub.events.changes import ChangeKind, report_change
from mlhub.events.models import Event
from mlhub.webhooks.actions import PURPOSE, give_up_waiting
from mlhub.webhooks.destinations import allowed_inside
from mlhub.webhooks.models import Delivery, DeliveryState, Webhook
from mlhub.webhooks.signing import headers_of
from mlhub.webhooks.topics import body_of, topic_of

logger = structlog.stdlib.get_logger(__name__)
BATCH_OF_EVENTS = 500
AT_ONCE, OF_ONE_ORGANISATION, OF_ONE_WEBHOOK = 64, 8, 4
TIMEOUT_S = 10.0  # of a delivery in all: name service, connection, answer
TRIED_AGAIN_AFTER = tuple(timedelta(seconds=s) for s in (30, 120, 600, 3600, 4 * 3600, 12 * 3600, 24 * 3600))
DISABLED_AFTER = timedelta(days=1)  # without one success
GONE = 410  # by which a receiver says that it wants no more


@dataclass(frozen=True)
class Outgoing:
    """What is sent. secret: None when no key decrypts it."""

    delivery_id: str
    url: str
    body: str
    secret: str | None


@dataclass(frozen=True)
class DeliveryAnswer:
    """status: of the answer; None where there was none, and then error says why."""

    status: int | None
    error: str = ""

    @property
    def is_delivered(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def make_deliveries() -> int:
    """One for each event since the last run; returns how many. A webhook's part is one transaction."""
    return sum(_isolated(_make_of, pk) for pk in Webhook.objects.filter(is_active=True).values_list("pk", flat=True))


def _isolated(make: Callable[[UUID], int], webhook_id: UUID) -> int:
    """A webhook that cannot be handled costs itself."""
    try:
        return make(webhook_id)
    except Exception:
        logger.exception("webhook.not_handled", webhook_id=str(webhook_id))
        return 0


def _make_of(webhook_id: UUID) -> int:
    with transaction.atomic():
        found = Webhook.objects.select_for_update(of=("self",), skip_locked=True).select_related("organisation")
        webhook = found.filter(pk=webhook_id, is_active=True).first()
        if webhook is None:
            return 0
        news = Event.objects.filter(organisation=webhook.organisation_id, id__gt=webhook.after_event_id)
        events = list(news.order_by("id")[:BATCH_OF_EVENTS])
        if not events:
            return 0
        now = timezone.now()
        made = [
            Delivery(
                webhook=webhook,
                event_id=event.id,
                topic=topic,
                body=body_of(event, topic, webhook.organisation),
                due_at=now,
            )
            for event in events
            if (topic := topic_of(event)) is not None and topic in webhook.topics
        ]
        Delivery.objects.bulk_create(made)
        if made:
            report_change(ChangeKind.DELIVERY, organisation_id=webhook.organisation_id)
        Webhook.objects.filter(pk=webhook.pk).update(after_event_id=events[-1].id)
    return len(made)


def send_due() -> int:
    """Sends what is due, side by side; returns how many were delivered. For one caller at a time."""
    due = Delivery.objects.due(
        timezone.now(), at_most=AT_ONCE, per_organisation=OF_ONE_ORGANISATION, per_webhook=OF_ONE_WEBHOOK
    )
    if not due:
        return 0
    answers = asyncio.run(_send_all([_outgoing(delivery) for delivery in due]))
    for delivery, answer in zip(due, answers, strict=True):
        _write_down(delivery, answer)
    return sum(answer.is_delivered for answer in answers)


def _outgoing(delivery: Delivery) -> Outgoing:
    try:
        secret = cipher(PURPOSE).decrypt(bytes(delivery.webhook.encrypted_secret)).decode()
    except InvalidToken:
        secret = None
    return Outgoing(str(delivery.pk), delivery.webhook.url, delivery.body, secret)


async def _send_all(messages: Sequence[Outgoing]) -> list[DeliveryAnswer]:
    return await asyncio.gather(*map(_send, messages))


async def _send(message: Outgoing) -> DeliveryAnswer:
    if message.secret is None:
        return DeliveryAnswer(None, "Its secret cannot be decrypted any more: make the webhook anew.")
    try:
        async with asyncio.timeout(TIMEOUT_S):
            to = await resolve(message.url, allowed_inside())
            # no proxies of the environment, and no redirects: both would call what was not checked. A client of its
            # own: connections and cookies are kept by address, which several names may share
            async with httpx.AsyncClient(
                timeout=TIMEOUT_S, trust_env=False, follow_redirects=False, verify=public_authorities()
            ) as client:
                return await _post(client, to, message)
    except TimeoutError:
        return DeliveryAnswer(None, f"No answer within {TIMEOUT_S:.0f} s.")
    except DestinationError as error:
        return DeliveryAnswer(None, str(error)[:300])
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        return DeliveryAnswer(None, f"{type(error).__name__}: {error}"[:300])


async def _post(client: httpx.AsyncClient, to: Destination, message: Outgoing) -> DeliveryAnswer:
    """To the address that was checked; certificate and header are those of the name. The answer's body is not read."""
    assert message.secret is not None
    url = httpx.URL(message.url)
    headers = {
        "Host": url.netloc.decode(),
        "Content-Type": "application/cloudevents+json",
        "User-Agent": f"MLHub/{__version__}",
        **headers_of(message.delivery_id, message.body, secret=message.secret, at_s=int(time.time())),
    }
    async with client.stream(
        "POST",
        url.copy_with(host=to.address),
        content=message.body.encode(),
        headers=headers,
        extensions={"sni_hostname": to.host},
    ) as answer:
        return DeliveryAnswer(answer.status_code, "Redirects are not followed." if answer.is_redirect else "")


def _write_down(delivery: Delivery, answer: DeliveryAnswer) -> None:
    now, n_attempts = timezone.now(), delivery.n_attempts + 1
    is_given_up = n_attempts > len(TRIED_AGAIN_AFTER)
    changes: dict[str, object] = {
        "n_attempts": n_attempts,
        "status_code": answer.status,
        "error": answer.error,
    }
    if answer.is_delivered:
        changes |= {"state": DeliveryState.DELIVERED, "ended_at": now}
    elif is_given_up:
        changes |= {"state": DeliveryState.FAILED, "ended_at": now}
    else:
        changes |= {"due_at": now + TRIED_AGAIN_AFTER[n_attempts - 1]}
    with transaction.atomic():
        Delivery.objects.filter(pk=delivery.pk).update(**changes)
        report_change(ChangeKind.DELIVERY, organisation_id=delivery.webhook.organisation_id)
        _judge(delivery.webhook_id, answer, now, is_given_up=is_given_up)


def _judge(webhook_id: UUID, answer: DeliveryAnswer, now: datetime, *, is_given_up: bool) -> None:
    """Turns off a webhook of which a delivery was given up after days of failures, or whose receiver is gone."""
    webhook = (
        Webhook.objects.select_for_update(of=("self",)).select_related("organisation").filter(pk=webhook_id).first()
    )
    if webhook is None or not webhook.is_active:
        return
    if answer.is_delivered:
        if webhook.failing_since is not None:
            Webhook.objects.filter(pk=webhook.pk).update(failing_since=None)
        return
    since = webhook.failing_since or now
    is_off = answer.status == GONE or (is_given_up and now - since >= DISABLED_AFTER)
    why = (
        "The receiver answered 410 Gone."
        if answer.status == GONE
        else f"No delivery succeeded since {since:%Y-%m-%d %H:%M} UTC."
    )
    webhook.failing_since = since
    webhook.is_active = not is_off
    webhook.disabled_reason = why if is_off else ""
    webhook.save(update_fields=["failing_since", "is_active", "disabled_reason"])
    if is_off:
        give_up_waiting(webhook)
        append(
            "webhook.disabled",
            organisation=webhook.organisation,
            subject_kind="webhook",
            subject_id=webhook.pk,
            name=webhook.url,
            reason=why,
        )
