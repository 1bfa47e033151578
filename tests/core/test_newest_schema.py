# SPDX-License-Identifier: Apache-2.0
"""An empty database gets the newest schema from one script, and that script is what the migrations lead to."""

from __future__ import annotations

import io
from typing import Any

import psycopg2
import pytest
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from deploy.local import tables


def rows(url: str, query: str) -> set[Any]:
    with psycopg2.connect(url) as session, session.cursor() as cursor:
        cursor.execute(query)
        return set(cursor.fetchall())


def migrate(url: str, *arguments: str) -> str:
    """What `manage.py migrate` writes, run in this process: one of its own imports all that Django needs."""
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as changed:
        connection.close()
        ContentType.objects.clear_cache()
        changed.setitem(connection.settings_dict, "NAME", url.rpartition("/")[2])
        try:
            call_command("migrate", *arguments, stdout=out, no_color=True)
        finally:
            connection.close()
            ContentType.objects.clear_cache()
    return out.getvalue()


@pytest.mark.slow
def test_the_script_is_what_the_migrations_lead_to(empty_database: str) -> None:
    migrate(empty_database, "--every-migration", "--verbosity", "0")
    assert tables.of_database(empty_database) == tables.FILE.read_text(), "The migrations changed. Run: make tables"


@pytest.mark.slow
def test_an_empty_database_has_every_migration_after_the_script_and_what_django_adds(empty_database: str) -> None:
    assert "No migrations to apply" in migrate(empty_database)
    assert rows(empty_database, "SELECT app, name FROM django_migrations") >= set(MigrationLoader(None).graph.nodes)
    known = rows(empty_database, "SELECT app_label, model FROM django_content_type")
    assert {("jobs", "job"), ("metrics", "usagesample")} <= known
    assert rows(empty_database, "SELECT count(*) FROM auth_permission WHERE codename = 'change_job'") == {(1,)}
    assert rows(
        empty_database, "SELECT max(abs(extract(epoch FROM now() - applied))) < 3600 FROM django_migrations"
    ) == {(True,)}
    # A second one, of a process that came too late, finds everything there.
    assert "No migrations to apply" in migrate(empty_database)


@pytest.mark.slow
def test_a_database_with_a_table_is_migrated_step_by_step(empty_database: str) -> None:
    with psycopg2.connect(empty_database) as session, session.cursor() as cursor:
        cursor.execute("CREATE TABLE somebodys (x integer)")
    assert "Applying contenttypes.0001_initial... OK" in migrate(empty_database, "contenttypes")
    found = rows(empty_database, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    assert found == {("somebodys",), ("django_migrations",), ("django_content_type",)}


@pytest.mark.slow
def test_who_asks_for_the_plan_or_one_app_of_an_empty_database_gets_no_more(empty_database: str) -> None:
    assert "contenttypes.0001_initial" in migrate(empty_database, "--plan")
    assert rows(empty_database, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == set()


def test_what_would_outlive_the_script_in_a_session_is_left_out() -> None:
    dump = (
        "--\n-- Name: a\n\\restrict x\nSET lock_timeout = 0;\n\n"
        "SELECT pg_catalog.set_config('search_path', '', false);\n"
        "INSERT INTO public.django_migrations VALUES (1, 'a', '0001', '2026-01-01 00:00:00+00');\n"
        "SELECT pg_catalog.setval('public.a_id_seq', 1, false);\n"
        "SELECT pg_catalog.setval('public.django_content_type_id_seq', 90, true);\n"
        "SELECT pg_catalog.setval('public.django_migrations_id_seq', 1, true);\n"
    )
    assert tables.without_session(dump) == (
        "INSERT INTO public.django_migrations VALUES (1, 'a', '0001', now());\n"
        "SELECT pg_catalog.setval('public.django_migrations_id_seq', 1, true);\n"
    )
