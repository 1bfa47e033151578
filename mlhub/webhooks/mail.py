# SPDX-License-Identifier: Apache-2.0
"""E-mail of what people chose, where a mail server is configured (MLHUB_EMAIL_URL): to those who submitted a job, of
budgets to admins and owners, of a user's own GPU-hours to that user, of a week's or month's use to admins and auditors.
"""

from __future__ import annotations

from collections.abc import Sequence
from smtplib import SMTPDataError, SMTPRecipientsRefused

import structlog
from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.db.models import Max

from mlhub.core.errors import InvalidInputError
from mlhub.events.models import Event
from mlhub.jobs.models import Job
from mlhub.tenants.models import User
from mlhub.webhooks.budget_mail import budget_message, user_budget_message
from mlhub.webhooks.models import MailCursor, MailNotices
from mlhub.webhooks.topics import BUDGET, LONG_WAIT, MAIL_TOPICS, PREEMPTED, USAGE, USER_BUDGET, topic_of
from mlhub.webhooks.usage_mail import usage_message

logger = structlog.stdlib.get_logger(__name__)
BATCH = 200  # events of one run
MAX_TRIES = 30  # of a message that the server refuses for now, one each run
PERMANENT = 500  # codes of SMTP from here on
WORDS = {
    "job.running": "runs",
    "job.succeeded": "succeeded",
    "job.failed": "failed",
    "job.cancelled": "was cancelled",
    "job.paused": "was paused",
    PREEMPTED: "gives its GPUs back and waits",
    LONG_WAIT: "waits for long",
}


def chosen_by(user: User) -> list[str]:
    """The topics that the user is notified of; none at first."""
    found = MailNotices.objects.filter(user=user).first()
    return list(found.topics) if found else []


def choose(user: User, topics: Sequence[str]) -> None:
    """From now on the user is notified of these. Raises InvalidInputError where there is no address to write to."""
    if topics and not user.email:
        raise InvalidInputError(
            "Your account has no e-mail address, so that nothing could be sent.",
            field="topics",
            remedy="Ask an administrator of the platform to give your account an address, or choose no topics.",
        )
    MailNotices.objects.update_or_create(user=user, defaults={"topics": [t for t in MAIL_TOPICS if t in topics]})


def send_notices() -> int:
    """Sends what events since the last run call for; returns how many messages. For one caller at a time.

    While the server is away messages wait. One that it refuses for now is tried again a few times, one that it refuses
    for good is logged and left out. A process that ends while it sends repeats that one message.
    """
    newest = Event.objects.aggregate(newest=Max("id"))["newest"] or 0
    cursor, is_new = MailCursor.objects.get_or_create(pk=1, defaults={"after_event_id": newest})
    if is_new or not settings.HAS_MAIL_SERVER:
        MailCursor.objects.filter(pk=1).update(after_event_id=newest)  # no notice of what happened before
        return 0
    news = Event.objects.filter(id__gt=cursor.after_event_id, id__lte=newest)
    events = list(news.filter(kind__in=("job.state", LONG_WAIT, BUDGET, USER_BUDGET, *USAGE)).order_by("id")[:BATCH])
    wanted = [(event.id, _message(event)) for event in events]
    if any(message for _, message in wanted):
        n_sent = _send_all(wanted, n_tries=cursor.n_tries)
    else:
        n_sent = 0
        _move(wanted[-1][0] if wanted else newest)
    if len(events) < BATCH and (not wanted or MailCursor.objects.get().after_event_id == wanted[-1][0]):
        _move(newest)
    return n_sent


def _send_all(wanted: Sequence[tuple[int, EmailMessage | None]], *, n_tries: int) -> int:
    """Over one connection, in the order of events, up to the first that is to be tried again."""
    n_sent = 0
    try:
        with get_connection() as connection:
            for event_id, message in wanted:
                try:
                    if message is not None:
                        n_sent += connection.send_messages([message]) or 0
                except (OSError, ValueError) as error:  # of which smtplib's errors are kinds
                    if not _is_final(error) and n_tries + 1 < MAX_TRIES:
                        MailCursor.objects.filter(pk=1).update(n_tries=n_tries + 1)
                        return n_sent
                    logger.warning("mail.left_out", error=type(error).__name__, event_id=event_id)
                    _move(event_id)
                    return n_sent  # the connection may be broken; the next run goes on
                _move(event_id)
                n_tries = 0
    except OSError as error:
        logger.warning("mail.server_away", error=type(error).__name__)
    return n_sent


def _move(event_id: int) -> None:
    MailCursor.objects.filter(pk=1).update(after_event_id=event_id, n_tries=0)


def _is_final(error: Exception) -> bool:
    """Whether the server, or the message, says that another try is of no use."""
    if isinstance(error, SMTPRecipientsRefused):
        return all(code >= PERMANENT for code, _ in error.recipients.values())
    return isinstance(error, ValueError) or (isinstance(error, SMTPDataError) and error.smtp_code >= PERMANENT)


def _message(event: Event) -> EmailMessage | None:
    """None when no user is to be notified."""
    topic = topic_of(event)
    if topic in (BUDGET, USER_BUDGET):
        return budget_message(event) if topic == BUDGET else user_budget_message(event)
    if topic in USAGE:
        return usage_message(event)
    job = Job.objects.filter(pk=str(event.subject_id)).select_related("created_by").first()
    if topic not in WORDS or job is None or not _wants(job, topic):
        return None
    subject = " ".join(f"{job.name} {WORDS[topic]}".split())[:200]
    why = str(event.facts.get("why") or event.facts.get("reason") or "")
    lines = [
        f"Your job {job.name} {WORDS[topic]}.",
        "" if why == event.facts.get("after") else why,  # "succeeded" was said
        f"{settings.PUBLIC_URL}/jobs/{job.pk}",
        f"You chose on {settings.PUBLIC_URL}/account to be notified of this.",
    ]
    return EmailMessage(subject, "\n\n".join(line for line in lines if line), to=[job.created_by.email])


def _wants(job: Job, topic: str) -> bool:
    """The user is notified while the account is active, may see the job, and has an address."""
    user = job.created_by
    may = user.is_active and bool(user.email) and topic in chosen_by(user)
    return may and Job.objects.visible_to(user).filter(pk=job.pk).exists()
