# SPDX-License-Identifier: Apache-2.0
"""The demo's cast, created by the platform's own command; random passwords, kept in the home folder."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# of manage.py, in one process: to import Django takes longer than all of them
ALL_COMMANDS = """
import json, sys
import django
from django.core.management import call_command
django.setup()
for command in json.loads(sys.argv[1]):
    call_command(*command)
"""


@dataclass(frozen=True)
class Login:
    username: str
    organisation: str | None
    role: str | None
    password: str


CAST = [("maria", "Aurora Robotics", "owner"), ("jonas", "Borealis Health", "owner"), ("admin", None, None)]


def logins(home: Path) -> list[Login]:
    """Creates the demo's people where they are missing. admin is the platform's administrator."""
    kept = home / "demo-logins.json"
    passwords = json.loads(kept.read_text()) if kept.exists() else {name: secrets.token_urlsafe(9) for name, *_ in CAST}
    if not kept.exists():
        kept.touch(mode=0o600)
        kept.write_text(json.dumps(passwords))
    found = [Login(name, organisation, role, passwords[name]) for name, organisation, role in CAST]
    _create(found)
    return found


def _create(people: Sequence[Login]) -> None:
    variables = {f"MLHUB_DEMO_PASSWORD_{i}": login.password for i, login in enumerate(people)}
    commands = [
        ["create_user", login.username, "--password-env", variable, *_place(login)]
        for variable, login in zip(variables, people, strict=True)
    ]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "mlhub.settings", **variables}
    argv = [sys.executable, "-c", ALL_COMMANDS, json.dumps(commands)]
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, env=environment)


def _place(login: Login) -> list[str]:
    if login.organisation and login.role:
        return ["--organisation", login.organisation, "--role", login.role]
    return ["--staff"]
