# SPDX-License-Identifier: Apache-2.0
"""What MLHub declares to browsers: where a page's parts may come from, who may frame it, and what it does not use."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from mlhub.core.web.dashboard import NONCE_PLACEHOLDER

ROOT = Path(__file__).parents[2]


def policy(answer: Any) -> dict[str, list[str]]:
    parts = (part.split() for part in answer["Content-Security-Policy"].split(";"))
    return {name: sources for name, *sources in parts}


@pytest.fixture
def built(settings: Any, tmp_path: Path) -> None:
    """A dashboard with nothing but the place of its nonce."""
    (tmp_path / "index.html").write_text(f'<meta property="csp-nonce" nonce="{NONCE_PLACEHOLDER}">')
    settings.FRONTEND_DIST = tmp_path


def test_everything_comes_from_mlhub_itself_and_no_page_frames_it(built: None) -> None:
    found = policy(Client().get("/jobs"))
    assert found["default-src"] == found["script-src"] == found["connect-src"] == found["media-src"] == ["'self'"]
    assert found["frame-ancestors"] == found["object-src"] == found["base-uri"] == ["'none'"]
    assert not [name for name, sources in found.items() if {"'unsafe-inline'", "'unsafe-eval'", "*"} & set(sources)]


def test_each_page_has_a_nonce_of_its_own_that_its_policy_names(built: None) -> None:
    nonces = set()
    for _ in range(2):
        answer = Client().get("/jobs")
        (nonce,) = re.findall(r'nonce="(.+?)"', answer.content.decode())
        assert f"'nonce-{nonce}'" in policy(answer)["style-src"]
        nonces.add(nonce)
    assert len(nonces) == 2


def test_the_page_without_a_dashboard_keeps_the_policy_too(settings: Any, tmp_path: Path) -> None:
    settings.FRONTEND_DIST = tmp_path
    answer = Client().get("/jobs")
    assert answer.status_code == 503
    (nonce,) = re.findall(r'<style nonce="(.+?)"', answer.content.decode())
    assert f"'nonce-{nonce}'" in policy(answer)["style-src"]
    assert "style=" not in answer.content.decode()


def test_the_dashboard_s_source_has_the_place_of_the_nonce() -> None:
    assert (ROOT / "frontend" / "index.html").read_text().count(f'nonce="{NONCE_PLACEHOLDER}"') == 1


def test_the_api_s_documentation_has_no_inline_script() -> None:
    answer = Client().get("/api/v1/docs")
    assert policy(answer)["script-src"] == ["'self'"]
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", answer.content.decode()))


@pytest.mark.parametrize("address", ["/jobs", "/healthz", "/api/v1/docs", "/api/v1/jobs", "/static/nothing.css"])
def test_every_answer_has_the_security_headers(address: str) -> None:
    answer = Client().get(address)
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["Referrer-Policy"] == answer["Cross-Origin-Opener-Policy"] == "same-origin"
    assert answer["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "camera=()" in answer["Permissions-Policy"]
    assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
    assert "Strict-Transport-Security" not in answer


def test_plain_http_is_refused_for_as_long_as_the_administrator_says(settings: Any) -> None:
    settings.HSTS_SECONDS = 3600
    assert Client().get("/healthz")["Strict-Transport-Security"] == "max-age=3600"


@pytest.mark.slow
def test_hsts_needs_an_https_address() -> None:
    done = _settings({"MLHUB_HSTS_SECONDS": "3600"})
    assert "ImproperlyConfigured: MLHUB_HSTS_SECONDS needs an MLHUB_PUBLIC_URL" in done.stderr


@pytest.mark.slow
def test_cookies_are_secure_where_the_address_is_https() -> None:
    secure = _settings({"MLHUB_PUBLIC_URL": "https://mlhub.example.org", "MLHUB_HSTS_SECONDS": "60"})
    plain = _settings({"MLHUB_PUBLIC_URL": "http://mlhub.example.org"})
    assert (secure.stdout.split(), plain.stdout.split()) == (["True", "True", "60"], ["False", "False", "0"])


def _settings(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    code = "import mlhub.settings as s; print(s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.HSTS_SECONDS)"
    argv = [sys.executable, "-c", code]
    return subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
