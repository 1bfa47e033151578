# SPDX-License-Identifier: Apache-2.0
"""Probes and the dashboard's page, which need neither sign-in nor database rows."""

from __future__ import annotations

import gzip
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from mlhub.control.models import SchedulerState


def test_a_process_that_answers_is_alive():
    assert Client().get("/healthz").status_code == 200


def test_ready_says_how_the_neighbours_are(db):
    answer = Client().get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {
        "database": True,
        "redis": True,
        "rounds": {"finished_age_s": None, "attempted_age_s": None},
    }


def test_without_redis_the_platform_is_still_ready(db, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()["redis"]) == (200, False)


def test_ready_says_how_long_ago_the_last_rounds_were_finished_and_attempted_and_stays_in_service(db):
    now = timezone.now()
    SchedulerState.objects.create(round_at=now - timedelta(seconds=9000), attempted_at=now - timedelta(seconds=90))
    answer = Client().get("/readyz")
    assert answer.status_code == 200
    rounds = answer.json()["rounds"]
    assert 9000 <= rounds["finished_age_s"] < 9060
    assert 90 <= rounds["attempted_age_s"] < 150


@pytest.mark.django_db(transaction=True)
def test_without_its_database_it_is_not_ready():
    connection.close()
    kept = dict(connection.settings_dict)
    try:
        connection.settings_dict["PORT"] = 1
        answer = Client().get("/readyz")
    finally:
        connection.close()
        connection.settings_dict.update(kept)
    assert answer.status_code == 503
    assert answer.json()["database"] is False


def test_every_other_address_is_the_dashboard_never_from_a_cache(settings, tmp_path):
    settings.FRONTEND_DIST = tmp_path
    client = Client()
    missing = client.get("/jobs/1")
    assert (missing.status_code, "make frontend" in missing.content.decode()) == (503, True)
    (tmp_path / "index.html").write_text("<title>MLHub</title>")
    page = client.get("/jobs/1")
    assert (page.status_code, page["Cache-Control"]) == (200, "no-cache")
    assert "csrftoken" in page.cookies
    assert client.post("/jobs/1").status_code == 405


def test_a_browser_keeps_the_dashboards_hashed_files_for_good_and_asks_again_for_all_others(settings, tmp_path):
    source = "export const jobs = 1;" * 100
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "JobPage-B--82RdW.js").write_text(source)
    (tmp_path / "assets" / "JobPage-B--82RdW.js.gz").write_bytes(gzip.compress(source.encode()))
    (tmp_path / "favicon.svg").write_text("<svg/>")
    settings.FRONTEND_DIST = settings.WHITENOISE_ROOT = tmp_path
    client = Client()
    hashed = client.get("/assets/JobPage-B--82RdW.js", headers={"accept-encoding": "gzip"})
    assert hashed["Cache-Control"] == "max-age=315360000, public, immutable"
    assert hashed["Content-Encoding"] == "gzip"
    assert gzip.decompress(b"".join(hashed.streaming_content)).decode() == source
    assert "immutable" not in client.get("/favicon.svg")["Cache-Control"]
    assert client.get("/assets/JobPage-0a1b2c3d.js").status_code == 404, "the chunk of an earlier build is not a page"
