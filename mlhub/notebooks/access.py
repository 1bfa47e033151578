# SPDX-License-Identifier: Apache-2.0
"""May this request go to this notebook? Asked at every request, and every few seconds of what stays open."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.exceptions import AuthenticationFailed

from mlhub.core.errors import NotFoundError
from mlhub.jobs.execution.credentials import key_of, notebook_token_of
from mlhub.jobs.models import Job
from mlhub.jobs.submission.notebooks import require_right, serving_attempt
from mlhub.notebooks.actions import COOKIE_S
from mlhub.notebooks.models import NotebookAccess
from mlhub.tenants.access_control.permissions import require_scope
from mlhub.tenants.models import ApiToken, User
from mlhub.tenants.sign_in.authentication import acting, hash_token, lacks_second_factor


@dataclass(frozen=True)
class NotebookTarget:
    """The pod's server, and the token that it wants."""

    attempt_id: str
    token: str


def target_of(job_id: UUID, cookie: str) -> NotebookTarget:
    """Where the request goes. Raises AuthenticationFailed, NotFoundError, NotAllowedError, ConflictError."""
    since = timezone.now() - timedelta(seconds=COOKIE_S)
    known = NotebookAccess.objects.filter(job=job_id, cookie_hash=hash_token(cookie), created_at__gte=since)
    access = known.select_related("user", "token__user").first() if cookie else None
    user = None if access is None else _person(access)
    if user is None:
        raise AuthenticationFailed("Open the notebook from its job's page: you are not signed in to it.")
    job: Job | None = Job.objects.visible_to(user).select_related("project__organisation").filter(pk=job_id).first()
    if job is None:
        raise NotFoundError("There is no such notebook.")
    require_right(job, user)
    attempt = serving_attempt(job)
    return NotebookTarget(str(attempt.pk), notebook_token_of(attempt.pk, key=key_of(attempt)))


def _person(access: NotebookAccess) -> User | None:
    """Who opened it, as long as the session or the API token by which they did so is good."""
    if access.token_id is not None:
        token = ApiToken.objects.select_related("user").filter(pk=access.token_id).first()
        if token is None or not token.is_usable or not token.user.is_active:
            return None
        require_scope(token, "submit")
        return acting(token.user, token)
    request = HttpRequest()
    request.session = SessionStore(access.session_key)
    user = get_user(request)  # also compares the password that the session was begun with
    if not isinstance(user, User) or user.pk != access.user_id or not user.is_active:
        return None
    if lacks_second_factor(user, request.session):
        user.is_staff = user.is_superuser = False
    return user
