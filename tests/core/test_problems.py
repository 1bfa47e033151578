# SPDX-License-Identifier: Apache-2.0
"""Errors as problem documents: one form for all of them, whatever raised them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from rest_framework.test import APIClient

from mlhub.control.monitoring import reads
from mlhub.core import errors
from mlhub.core.api import fallbacks
from mlhub.core.problems import STATUS, of_domain_error
from mlhub.tenants.actions import create_token
from tests.cast import make_cast


def test_every_domain_error_has_a_status_of_its_own():
    assert set(STATUS) == set(errors.DomainError.__subclasses__())


@pytest.mark.parametrize(("kind", "status"), STATUS.items())
def test_a_domain_error_has_code_field_remedy_and_facts(kind, status):
    answered, body = of_domain_error(kind("It is too big.", field="file", remedy="Make it smaller.", limit=3))
    assert (answered, body["status"], body["code"], body["limit"]) == (status, status, kind.code, 3)
    assert body["errors"] == [{"field": "file", "message": "It is too big.", "remedy": "Make it smaller."}]
    assert body["remedy"] == "Make it smaller."


def test_a_body_that_is_not_json_is_reported_as_a_problem(cast):
    answer = cast.client(cast.alice).post("/api/v1/projects", "{", content_type="application/json")
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert answer.json()["code"] == "parse_error"


def test_a_verb_that_is_not_there_is_reported_as_a_problem(cast):
    answer = cast.client(cast.alice).put("/api/v1/projects", {})
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


def test_a_wrong_cursor_is_reported_as_a_problem(cast):
    answer = cast.client(cast.alice).get("/api/v1/projects?cursor=nonsense")
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert [e["field"] for e in answer.json()["errors"]] == ["cursor"]


def test_several_wrong_fields_are_all_named(cast):
    answer = cast.client(cast.alice).post("/api/v1/projects", {"organisation": "A"})
    assert {e["field"] for e in answer.json()["errors"]} == {"organisation", "name"}


def is_problem(answer, status, code):
    found = (answer.status_code, answer["Content-Type"], answer.json()["status"], answer.json()["code"])
    assert found == (status, "application/problem+json", status, code), answer.content
    assert {"type", "title", "detail"} <= answer.json().keys()
    return True


@pytest.mark.parametrize("address", ["/api/v1/nothing", "/api/v2/jobs", "/api/", "/api/v1/jobs/no-uuid"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_an_address_that_is_not_there_is_a_problem(cast, address, method):
    assert is_problem(getattr(cast.client(cast.alice), method)(address), 404, "not_found")


def test_what_one_may_not_see_says_whom_to_ask(cast):
    texts = []
    for pk in (cast.project_a.pk, "01a21f07-64bb-74d0-a49e-d70ff3b80115"):
        found = cast.client(cast.charlie).get(f"/api/v1/projects/{pk}")
        assert is_problem(found, 404, "not_found")
        texts.append((found.json()["detail"], found.json()["remedy"]))
    assert "no role" in texts[0][1]
    assert texts[0] == texts[1], "nor does it say whether there is one"


def test_the_title_of_a_wrong_method_is_no_template(cast):
    answer = cast.client(cast.alice).put("/api/v1/projects", {})
    assert is_problem(answer, 405, "method_not_allowed")
    assert answer.json()["title"] == "Method not allowed"
    assert "GET" in answer["Allow"]
    stream = Client().post("/api/v1/stream")
    assert is_problem(stream, 405, "method_not_allowed")


def test_a_media_type_that_the_api_does_not_speak_is_a_problem(cast):
    client = cast.client(cast.alice)
    assert is_problem(client.get("/api/v1/projects", headers={"Accept": "text/csv"}), 406, "not_acceptable")
    form = client.post("/api/v1/projects", "name=x", content_type="application/x-www-form-urlencoded")
    assert is_problem(form, 415, "unsupported_media_type")


@pytest.mark.parametrize("content", [b"{", b"\xff", b'{"a": NaN}', b'{"name": "x"} {}'])
def test_malformed_json_is_a_problem(cast, content):
    answer = cast.client(cast.alice).post("/api/v1/projects", content, content_type="application/json")
    assert is_problem(answer, 400, "parse_error")


def test_a_write_of_a_session_without_its_csrf_token_is_a_problem(cast):
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(cast.alice, backend="django.contrib.auth.backends.ModelBackend")
    assert is_problem(client.post("/api/v1/projects", {"name": "x"}), 403, "permission_denied")


def test_djangos_own_csrf_page_is_a_problem_below_the_api_only(rf):
    answer = fallbacks.csrf_failure(rf.post("/api/v1/projects"), reason="no cookie")
    assert json.loads(answer.content)["code"] == "csrf_failed"
    assert fallbacks.csrf_failure(rf.post("/admin/login/")).headers["Content-Type"].startswith("text/html")


def test_an_unexpected_error_has_an_id_that_is_in_the_log_and_no_traceback(cast, monkeypatch, caplog):
    def fail(*_):
        raise RuntimeError("a secret of the platform")

    monkeypatch.setattr(reads, "cluster_as_seen_by", fail)
    client = cast.client(cast.alice)
    client.raise_request_exception = False
    answer = client.get("/api/v1/cluster")
    assert is_problem(answer, 500, "internal_error")
    assert "secret" not in answer.content.decode()
    (entry,) = [r for r in caplog.records if answer.json()["id"] in r.getMessage()]
    assert "a secret of the platform" in str(entry.exc_info[1])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["projects", "cluster", "stream"])
def test_without_its_database_the_api_asks_to_come_again(path):
    person = make_cast().alice
    client = APIClient(raise_request_exception=False)
    client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
    connection.close()
    kept = dict(connection.settings_dict)
    try:
        connection.settings_dict["PORT"] = 1
        answer = client.get(f"/api/v1/{path}")
    finally:
        connection.close()
        connection.settings_dict.update(kept)
    assert is_problem(answer, 503, "unavailable")
    assert int(answer["Retry-After"]) > 0
    assert "127.0.0.1" not in answer.content.decode()


@pytest.mark.django_db(transaction=True)
def test_a_database_that_is_read_only_is_read_and_changes_are_asked_to_come_again():
    cast = make_cast()
    client = cast.client(cast.alice)
    client.raise_request_exception = False
    _, token = create_token(cast.alice, name="t", scopes=["read"], expires_in_days=1)
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET default_transaction_read_only = on")
        assert client.get("/api/v1/projects").status_code == 200
        by_token = APIClient(headers={"Authorization": f"Bearer {token}"})  # whose use is noted otherwise
        assert by_token.get("/api/v1/projects").status_code == 200
        answer = client.post("/api/v1/projects", {"organisation": str(cast.a.pk), "name": "new"})
    finally:
        connection.close()
    assert is_problem(answer, 503, "unavailable")
    assert int(answer["Retry-After"]) > 0
    assert "takes no changes" in answer.json()["detail"]


@pytest.mark.django_db
def test_a_full_disk_of_the_database_is_named_with_who_can_mend_it():
    """The trigger fails as PostgreSQL does when a file of a table cannot grow."""
    cast = make_cast()
    client = cast.client(cast.alice)
    client.raise_request_exception = False
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION pg_temp.full_disk() RETURNS trigger LANGUAGE plpgsql AS"
            " $$BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END$$;"
            "CREATE TRIGGER full_disk BEFORE INSERT ON tenants_project EXECUTE FUNCTION pg_temp.full_disk()"
        )
    answer = client.post("/api/v1/projects", {"organisation": str(cast.a.pk), "name": "new"})
    assert is_problem(answer, 503, "unavailable")
    assert "disk is full" in answer.json()["detail"]
    assert "administrator" in answer.json()["remedy"]


@pytest.mark.django_db
def test_the_documentation_loads_its_own_script(client: Any) -> None:
    page = client.get("/api/v1/docs")
    assert b"/api/v1/docs?script=" in page.content
    script = client.get("/api/v1/docs?script=")
    assert (script.status_code, script.headers["Content-Type"]) == (200, "application/javascript")


@pytest.mark.django_db
def test_a_problem_is_json_whatever_format_was_asked_for(client: Any) -> None:
    answer = client.get("/api/v1/schema?format=nonsense", headers={"Accept": "application/vnd.oai.openapi"})
    assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/problem+json")
    assert answer.json()["status"] == 404
