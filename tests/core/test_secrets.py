# SPDX-License-Identifier: Apache-2.0
"""Tests of the settings' secrets: where they come from, what is refused, and what survives a rotation."""

from __future__ import annotations

import base64
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from rest_framework.test import APIClient

from mlhub.core.security.secret_key import require_secret_key
from mlhub.jobs.execution.credentials import gang_secret_of, key_of, token_of
from mlhub.settings.secret_values import OLD_DEFAULT, secret_value, signing_keys
from mlhub.tenants.sign_in.lockout import COOKIE
from tests.cast import make_cast
from tests.jobs.builders import job
from tests.metrics.test_ingest import opened

ROOT = Path(__file__).parents[2]
KEY, NEXT_KEY = "a-key-that-only-the-tests-of-keys-use", "another-one-that-comes-after-the-first"
PRESENT_KEY = "the-one-that-holds-now-and-signs-it-all"
ME, LOGIN = "/api/v1/auth/me", "/api/v1/auth/login"
PASSWORD = "correct horse battery"


def run(code: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-c", code]
    return subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_web_server_does_not_start_without_a_key() -> None:
    done = run("import mlhub.asgi", {})
    assert done.returncode != 0
    assert "ImproperlyConfigured: MLHUB_SECRET_KEY is not set. Set it, or MLHUB_SECRET_KEY_FILE" in done.stderr
    assert run("import mlhub.asgi", {"MLHUB_SECRET_KEY": KEY}).returncode == 0


@pytest.mark.slow
def test_the_control_loop_does_not_start_without_a_key(settings: Any) -> None:
    settings.SECRET_KEY = ""
    with pytest.raises(ImproperlyConfigured, match="is not set"):
        require_secret_key()
    done = run("from django.core.management import call_command as c; import django; django.setup(); c('control')",
               {"DJANGO_SETTINGS_MODULE": "mlhub.settings"})  # fmt: skip
    assert "MLHUB_SECRET_KEY is not set" in done.stderr


REGULAR = [
    "x" * 64, "ab" * 32, "changeme" * 5, "0123456789" * 4, "abcdefghijklmnopqrstuvwxyz0123456789",
    "aaaaaaaabbbbbbbbccccccccdddddddd", "password1password2password3password4", "x" * 63 + "y",
]  # fmt: skip


@pytest.mark.parametrize("guessable", [OLD_DEFAULT, "short", "x" * 31, *REGULAR])
@pytest.mark.parametrize("name", ["MLHUB_SECRET_KEY", "MLHUB_SECRET_KEY_FALLBACKS"])
def test_a_key_that_can_be_guessed_is_refused(name: str, guessable: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=f"{name} can be guessed"):
        signing_keys({"MLHUB_SECRET_KEY": KEY, name: guessable})


@pytest.mark.parametrize("nbytes", [16, 24, 32, 48])
def test_every_random_key_is_taken(nbytes: int) -> None:
    drawn = random.Random(nbytes)
    for _ in range(500):
        made = drawn.randbytes(nbytes)
        digits = "".join(drawn.choices("0123456789", k=32))
        for key in (made.hex(), base64.urlsafe_b64encode(made + made[:8]).decode(), digits):
            assert signing_keys({"MLHUB_SECRET_KEY": key})[0] == key


def test_secrets_come_from_the_environment_or_from_files(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("postgresql://u:p@db/x\n")
    (tmp_path / "old").write_text(f"{KEY}\n{NEXT_KEY}\n")
    assert secret_value({"DATABASE_URL_FILE": str(tmp_path / "url")}, "DATABASE_URL") == "postgresql://u:p@db/x"
    assert secret_value({"DATABASE_URL": "here"}, "DATABASE_URL", default="else") == "here"
    assert secret_value({}, "DATABASE_URL", default="else") == "else"
    old = {"MLHUB_SECRET_KEY": PRESENT_KEY, "MLHUB_SECRET_KEY_FALLBACKS_FILE": str(tmp_path / "old")}
    assert signing_keys(old) == (PRESENT_KEY, [KEY, NEXT_KEY])


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"X_FILE": "/nowhere/x"}, "/nowhere/x cannot be read"),
        ({"X_FILE": "/dev/null"}, "/dev/null is empty"),
        ({"X_FILE": "/dev/null", "X": "here"}, "Both X and X_FILE are set"),
    ],
)
def test_a_file_that_gives_no_secret_is_refused(environment: dict[str, str], message: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=message):
        secret_value(environment, "X")


@pytest.mark.slow
def test_every_secret_of_the_settings_may_be_a_file(tmp_path: Path) -> None:
    texts = {
        "MLHUB_SECRET_KEY": KEY,
        "MLHUB_METRICS_TOKEN": "m",
        "REDIS_URL": "redis://r",
        "DATABASE_URL": "postgres://h/d",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    code = (
        "import mlhub.settings as s; print(s.SECRET_KEY, s.METRICS_TOKEN, s.REDIS_URL, s.DATABASES['default']['HOST'])"
    )
    done = run(code, {f"{name}_FILE": str(tmp_path / name) for name in texts})
    assert done.stdout.split() == [KEY, "m", "redis://r", "h"], done.stderr


def test_sessions_known_browsers_and_attempts_survive_a_rotation(db: None, settings: Any) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = KEY, []
    settings.AXES_FAILURE_LIMIT = 2
    cast = make_cast()
    cast.bob.set_password(PASSWORD)
    cast.bob.save()
    browser, program = APIClient(), APIClient()
    assert browser.post(LOGIN, {"username": "bob", "password": PASSWORD}).status_code == 200
    attempt = opened(job(cast.project_a, cast.bob))
    token, gang_secret = token_of(attempt.id), gang_secret_of(attempt.id)

    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEXT_KEY, [KEY]
    assert browser.get(ME).status_code == 200
    for _ in range(3):
        program.post(LOGIN, {"username": "bob", "password": "wrong"})
    assert browser.post(LOGIN, {"username": "bob", "password": PASSWORD}).status_code == 200  # its mark is known
    assert browser.cookies[COOKIE].value
    key = key_of(attempt)
    assert (token_of(attempt.id, key=key), gang_secret_of(attempt.id, key=key)) == (token, gang_secret)
    assert token_of(attempt.id) != token

    settings.SECRET_KEY_FALLBACKS = []
    assert browser.get(ME).status_code == 200  # it was signed anew while both keys counted


def test_a_key_that_is_no_fallback_any_more_signs_nobody_in(db: None, settings: Any) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = KEY, []
    browser = APIClient()
    cast = make_cast()
    browser.force_login(cast.bob, backend="django.contrib.auth.backends.ModelBackend")
    settings.SECRET_KEY = NEXT_KEY
    assert browser.get(ME).status_code == 401
