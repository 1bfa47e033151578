# SPDX-License-Identifier: Apache-2.0
"""manage.py create_user: an account with its organisation and role; running it again changes nothing but what differs.

For scripts, and for the demo's people; administrators are made by createadmin.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from mlhub.tenants.actions import create_organisation
from mlhub.tenants.audit import record
from mlhub.tenants.models import Membership, Organisation, User
from mlhub.tenants.roles import Role


class Command(BaseCommand):
    help = "Create a user, or bring an existing one to what is asked; with an organisation (created when missing)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the name to sign in with")
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--password-file", type=Path, help="a file with the password")
        source.add_argument("--password-env", help="an environment variable with the password")
        parser.add_argument("--organisation", help="the organisation to belong to")
        parser.add_argument("--role", choices=[str(role) for role in Role], default=None, help="default: member")
        parser.add_argument("--staff", action="store_true", help="an administrator of the platform")

    def handle(self, *_: Any, **options: Any) -> None:
        if options["role"] and not options["organisation"]:
            raise CommandError("--role needs --organisation: a role is held in an organisation.")
        password = _password(options["password_file"], options["password_env"])
        with transaction.atomic():
            user, created = User.objects.get_or_create(username=options["name"])
            _bring(user, password=password, staff=options["staff"])
            if created:
                facts = {"username": user.username, "user_id": user.pk, "is_staff": user.is_staff}
                record("user.created", organisation=None, subject_kind="user", subject_id=user.id, actor=None, **facts)
            if options["organisation"]:
                _join(user, options["organisation"], Role(options["role"] or Role.MEMBER))
        self.stdout.write(f"{user.username}: {'created' if created else 'up to date'}")


def _password(file: Path | None, variable: str | None) -> str:
    """Never an argument: those are visible to every process of the machine."""
    if file is not None:
        try:
            password = file.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise CommandError(f"--password-file {file}: {error.strerror}.") from error
    else:
        password = os.environ.get(variable or "", "")
    if not password:
        raise CommandError(f"There is no password in {file or variable}.")
    return password


def _bring(user: User, *, password: str, staff: bool) -> None:
    if not user.check_password(password):
        try:
            validate_password(password, user)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        user.set_password(password)
    if staff:
        user.is_staff = user.is_superuser = True
    user.is_active = True
    user.save()


def _join(user: User, name: str, role: Role) -> None:
    organisation = Organisation.objects.filter(name=name).first() or create_organisation(name, actor=None)
    membership, is_new = Membership.objects.get_or_create(user=user, organisation=organisation, defaults={"role": role})
    before = None if is_new else membership.role
    if before == role:
        return
    membership.role = role
    membership.save()
    record(
        "membership.created" if is_new else "membership.changed",
        organisation=organisation,
        subject_kind="membership",
        subject_id=membership.id,
        actor=None,
        username=user.username,
        role=str(role),
        before=before,
    )
