# SPDX-License-Identifier: Apache-2.0
"""Secrets of projects: encrypted in the database, given to pods, never shown again.

The key of encryption follows from MLHUB_SECRET_KEY (core/security/encryption.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import structlog
from cryptography.fernet import InvalidToken
from django.db import transaction

from mlhub.core.errors import InvalidInputError, NotFoundError
from mlhub.core.security.encryption import cipher
from mlhub.environments.models import ProjectSecret
from mlhub.environments.variables import check_name
from mlhub.events.actions import append
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.models import Project, User
from mlhub.tenants.roles import Role
from mlhub.wire.masking import LEAST_LENGTH

logger = structlog.stdlib.get_logger(__name__)
PURPOSE = "mlhub secrets of projects"  # part of the key
MAX_SECRETS = 100  # of a project
MAX_VALUE_BYTES = 32 * 1024


def put_secret(project: Project, *, name: str, value: str, actor: User) -> ProjectSecret:
    """Sets a secret of the project, or replaces its value. Raises InvalidInputError, NotAllowedError."""
    require_role(actor, project, Role.MEMBER)
    check_name(name, field="name")
    _check_value(value)
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        own = ProjectSecret.objects.filter(project=project)
        if not own.filter(name=name).exists() and own.count() >= MAX_SECRETS:
            raise InvalidInputError(
                f"{project.name} has {MAX_SECRETS} secrets already.", field="name", remedy="Delete one first."
            )
        secret: ProjectSecret
        secret, is_new = ProjectSecret.objects.update_or_create(
            project=project, name=name, defaults={"encrypted": cipher(PURPOSE).encrypt(value.encode()), "set_by": actor}
        )
        _record("secret.created" if is_new else "secret.replaced", project, actor, name)
    return secret


def delete_secret(project: Project, *, name: str, actor: User) -> None:
    """Raises NotFoundError, NotAllowedError. Pods that run already keep it until they end."""
    require_role(actor, project, Role.MEMBER)
    with transaction.atomic():
        if not ProjectSecret.objects.filter(project=project, name=name).delete()[0]:
            raise NotFoundError(f"{project.name} has no secret {name}.")
        _record("secret.deleted", project, actor, name)


def check_secrets(project: Project, names: Sequence[str]) -> None:
    """Raises InvalidInputError for a name that is no secret of the project, or one that no key decrypts."""
    found = read_secrets(project.id, names)
    missing = found.deleted
    if missing:
        raise InvalidInputError(
            f"{project.name} has no secret {', '.join(missing)}.",
            field="secrets",
            remedy=f"Set it first: `mlhub secret set {missing[0]}`, Secrets of the project on the page Members, or"
            f" PUT /api/v1/projects/{project.id}/secrets/{missing[0]}.",
        )
    missing = found.undecrypted
    if missing:
        raise InvalidInputError(
            f"No key of the platform decrypts the project's secret {', '.join(missing)}.",
            field="secrets",
            remedy=f"Set it again: `mlhub secret set {missing[0]}`, Secrets of the project on the page Members, or"
            f" PUT /api/v1/projects/{project.id}/secrets/{missing[0]}. An administrator may instead put the earlier key"
            " into MLHUB_SECRET_KEY_FALLBACKS and run `manage.py reencrypt`.",
        )


@dataclass(frozen=True)
class ReadSecrets:
    """values: by name. deleted: names that are no secrets of the project any more. undecrypted: those that no key of
    the platform decrypts, such as after a rotation of MLHUB_SECRET_KEY without MLHUB_SECRET_KEY_FALLBACKS.
    """

    values: dict[str, str]
    deleted: tuple[str, ...] = ()
    undecrypted: tuple[str, ...] = ()


class MissingSecretError(Exception):
    """A secret that was named is not there any more, or no key decrypts it: a sentence for people, with its name."""


def required_secrets(project_id: UUID, names: Sequence[str]) -> dict[str, str]:
    """The values of these secrets by name, of all of them. Raises MissingSecretError."""
    found = read_secrets(project_id, names)
    if found.deleted:
        missing = ", ".join(found.deleted)
        raise MissingSecretError(f"The project has no secret {missing} any more.")
    if found.undecrypted:
        missing = ", ".join(found.undecrypted)
        raise MissingSecretError(f"No key of the platform decrypts the project's secret {missing}.")
    return found.values


def read_secrets(project_id: UUID, names: Sequence[str]) -> ReadSecrets:
    """What is there of these secrets."""
    if not names:
        return ReadSecrets({})
    values, undecrypted = {}, []
    for secret in ProjectSecret.objects.filter(project=project_id, name__in=names).order_by("name"):
        try:
            values[secret.name] = cipher(PURPOSE).decrypt(bytes(secret.encrypted)).decode()
        except InvalidToken:
            logger.warning("secret.not_decrypted", project=str(project_id), secret=secret.name)
            undecrypted.append(secret.name)
    deleted = [name for name in names if name not in values and name not in undecrypted]
    return ReadSecrets(values, tuple(deleted), tuple(undecrypted))


def secret_values(project_id: UUID, names: Sequence[str]) -> dict[str, str]:
    """The values that are there, by name, to be masked in texts."""
    return read_secrets(project_id, names).values


def _check_value(value: str) -> None:
    size = len(value.encode())
    if not len(value.strip()) >= LEAST_LENGTH or size > MAX_VALUE_BYTES or "\x00" in value:
        raise InvalidInputError(
            f"The value has {size:,} bytes.",
            field="value",
            remedy=f"Give {LEAST_LENGTH} characters or more, and at most {MAX_VALUE_BYTES:,} bytes without NUL.",
        )


def _record(kind: str, project: Project, actor: User, name: str) -> None:
    append(
        kind,
        organisation=project.organisation,
        subject_kind="project",
        subject_id=project.id,
        actor=actor,
        secret=name,
    )
