# SPDX-License-Identifier: Apache-2.0
"""Opening a notebook: a ticket for one use, which the notebook's own origin exchanges for a cookie of its own."""

from __future__ import annotations

import secrets
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from mlhub.jobs.events import append_of_job
from mlhub.jobs.models import Job
from mlhub.jobs.submission.notebooks import require_right, serving_attempt
from mlhub.notebooks.addresses import origin_of
from mlhub.notebooks.models import NotebookAccess
from mlhub.tenants.models import ApiToken, User
from mlhub.tenants.sign_in.authentication import hash_token

ENTER = "/_mlhub/enter"
TICKET_S = 60.0
COOKIE_S = 12 * 3600.0  # then the person opens it from the job's page again
KEPT = timedelta(seconds=COOKIE_S + TICKET_S)


def open_notebook(job: Job, *, user: User, session_key: str = "", token: ApiToken | None = None) -> str:
    """The address at which this person's browser enters the notebook, once and within TICKET_S seconds.

    Raises NotAllowedError, ConflictError.
    """
    require_right(job, user)
    serving_attempt(job)
    ticket, now = secrets.token_urlsafe(32), timezone.now()
    with transaction.atomic():
        NotebookAccess.objects.filter(created_at__lt=now - KEPT).delete()
        NotebookAccess.objects.create(
            job=job, user=user, session_key=session_key, token=token, ticket_hash=hash_token(ticket)
        )
        append_of_job(
            "notebook.opened",
            job,
            actor=user,
        )
    return f"{origin_of(job.pk, pattern=settings.NOTEBOOK_ORIGIN)}{ENTER}?ticket={ticket}"


def exchange_ticket(job_id: UUID, ticket: str) -> str | None:
    """The value of the cookie; None for a ticket that is unknown, used, too old or of another notebook."""
    cookie = secrets.token_urlsafe(32)
    fresh = NotebookAccess.objects.filter(
        job=job_id,
        ticket_hash=hash_token(ticket),
        cookie_hash=None,
        created_at__gte=timezone.now() - timedelta(seconds=TICKET_S),
    )
    return cookie if fresh.update(cookie_hash=hash_token(cookie)) else None
