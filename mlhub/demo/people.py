# SPDX-License-Identifier: Apache-2.0
"""The demo's cast, created by the platform's own command; random passwords, kept in the home folder."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


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
    for login in found:
        _create(login)
    return found


def _create(login: Login) -> None:
    argv = [sys.executable, "-m", "django", "create_user", login.username, "--password-env", "MLHUB_DEMO_PASSWORD"]
    if login.organisation and login.role:
        argv += ["--organisation", login.organisation, "--role", login.role]
    else:
        argv += ["--staff"]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "mlhub.settings", "MLHUB_DEMO_PASSWORD": login.password}
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, env=environment)
