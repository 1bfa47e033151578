# SPDX-License-Identifier: Apache-2.0
"""The settings that hold, by the API: for administrators, documented, in words on the page, and without secrets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mlhub.control.monitoring.platform_settings import shown_settings
from mlhub.tenants.single_sign_on.options import SingleSignOn
from tests.cast import Cast, make_cast

pytestmark = pytest.mark.django_db
PATH = "/api/v1/platform/settings"
ROOT = Path(__file__).parents[3]
WORDS = ROOT / "frontend" / "src" / "features" / "platform" / "settingWords.ts"


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def found(cast: Cast) -> dict[str, dict[str, str]]:
    answer = cast.client(cast.root).get(PATH)
    assert answer.status_code == 200, answer.json()
    return {one["name"]: one for one in answer.json()["settings"]}


def test_what_holds_is_shown_with_its_group_and_kind(cast: Cast, settings: Any) -> None:
    settings.DATA_ALLOW, settings.BUILD_SOURCES = ["mirror.example.org", "10.0.0.0/8"], False
    settings.KEPT_DAYS = {**settings.KEPT_DAYS, "logs": 7.5}
    settings.MAX_UPLOAD_BYTES, settings.IMPERSONATION_MINUTES = 2**40, 45.0
    shown = found(cast)
    named = [(shown[f"MLHUB_{name}"]["kind"], shown[f"MLHUB_{name}"]["value"]) for name in (
        "DATA_ALLOW", "WEBHOOK_ALLOW", "BUILD_SOURCES", "KEEP_LOGS_DAYS", "KEEP_EVENTS_DAYS", "MAX_UPLOAD_BYTES",
        "IMPERSONATION_MINUTES", "PASSWORD_SIGN_IN",
    )]  # fmt: skip
    assert named == [
        ("text", "mirror.example.org, 10.0.0.0/8"), ("text", ""), ("switch", "off"), ("days", "7.5"), ("days", "0"),
        ("bytes", "1099511627776"), ("seconds", "2700"), ("text", "everybody"),
    ]  # fmt: skip
    assert [one["group"] for one in shown.values()] == sorted(
        (one["group"] for one in shown.values()), key=["features", "sign_in", "limits", "retention"].index
    )


def test_no_secret_is_among_them(cast: Cast, settings: Any) -> None:
    secret = "s3cr3t-of-this-test"
    settings.SINGLE_SIGN_ON = SingleSignOn("https://id.example.org", "mlhub", client_secret=secret)
    settings.PASSWORD_USERS, settings.HAS_MAIL_SERVER = frozenset({"root", "eve"}), True
    settings.EMAIL_URL, settings.SECRET_KEY = f"smtp://mlhub:{secret}@mail.example.org", secret
    settings.DATABASE_URL = settings.REDIS_URL = f"redis://:{secret}@db.example.org/0"
    answer = cast.client(cast.root).get(PATH)
    shown = {one["name"]: one["value"] for one in answer.json()["settings"]}
    assert secret not in answer.content.decode()
    assert (shown["MLHUB_OIDC_ISSUER"], shown["MLHUB_EMAIL_URL"]) == ("https://id.example.org", "on")
    assert shown["MLHUB_PASSWORD_SIGN_IN"] == "eve, root"


def test_they_are_for_administrators(cast: Cast) -> None:
    for user in (cast.alice, cast.bob, cast.charlie):
        refused = cast.client(user).get(PATH)
        assert (refused.status_code, refused.json()["code"]) == (403, "administrator_needed")
    assert cast.client(None).get(PATH).status_code in (401, 403)


def test_each_is_in_the_guide_and_has_words_on_the_page(settings: Any) -> None:
    settings.SINGLE_SIGN_ON = SingleSignOn("https://id.example.org", "mlhub")
    names = {one.name for one in shown_settings()}
    guides = "".join((ROOT / "docs" / "guides" / page).read_text() for page in ("install.md", "single-sign-on.md"))
    assert [name for name in sorted(names) if f"`{name}`" not in guides] == []
    assert set(re.findall(r"^  (MLHUB_\w+): t`", WORDS.read_text(), flags=re.MULTILINE)) == names
