# SPDX-License-Identifier: Apache-2.0
"""The dashboard is built anew under a running platform: its page and its files are those of the new build."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

FIRST, SECOND = "/assets/index-aaaaaaaa.js", "/assets/index-bbbbbbbb.js"


def build(folder: Path, name: str) -> None:
    """As Vite does: the folder is emptied first."""
    assets = folder / "assets"
    assets.mkdir(exist_ok=True)
    for old in assets.iterdir():
        old.unlink()
    (folder / name[1:]).write_text(f"// {name}")
    (folder / "index.html").write_text(f'<script src="{name}"></script>')


@pytest.fixture
def dist(settings: Any, tmp_path: Path) -> Path:
    settings.FRONTEND_DIST = settings.WHITENOISE_ROOT = tmp_path
    return tmp_path


def body(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, path
    return "".join(part.decode() for part in answer) if answer.streaming else answer.content.decode()


def test_files_of_a_build_under_a_running_platform_are_served_at_once(dist: Path) -> None:
    build(dist, FIRST)
    client = Client()
    assert body(client, FIRST) == f"// {FIRST}"
    build(dist, SECOND)
    assert SECOND in body(client, "/jobs")
    assert body(client, SECOND) == f"// {SECOND}"
    assert "immutable" in client.get(SECOND)["Cache-Control"]
    assert client.get(FIRST).status_code == 404  # an open page then loads anew what it lacks


def test_the_first_build_needs_no_restart_either(dist: Path, settings: Any) -> None:
    settings.WHITENOISE_ROOT = None
    client = Client()
    assert client.get(FIRST).status_code == 404
    build(dist, FIRST)
    assert FIRST in body(client, "/jobs")
    assert body(client, FIRST) == f"// {FIRST}"


def test_a_file_that_is_written_after_the_page_is_found(dist: Path) -> None:
    build(dist, FIRST)
    client = Client()
    assert client.get(SECOND).status_code == 404
    (dist / SECOND[1:]).write_text("late")
    assert body(client, SECOND) == "late"


@pytest.mark.parametrize("path", ["/assets/../secret.txt", "/assets/%2e%2e/secret.txt", "/assets/"])
def test_nothing_outside_the_folder_is_served(dist: Path, path: str) -> None:
    build(dist, FIRST)
    client = Client()
    (dist.parent / "secret.txt").write_text("secret")
    build(dist, SECOND)
    assert client.get(path).status_code == 404
