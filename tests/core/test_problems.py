"""Errors as problem documents: one form for all of them, whoever raised."""

from __future__ import annotations

import pytest

from mlhub.core import errors
from mlhub.core.problems import STATUS, of_domain_error


def test_every_domain_error_has_a_status_of_its_own():
    assert set(STATUS) == set(errors.DomainError.__subclasses__())


@pytest.mark.parametrize(("kind", "status"), STATUS.items())
def test_a_domain_error_tells_code_field_remedy_and_facts(kind, status):
    told, body = of_domain_error(kind("It is too big.", field="file", remedy="Make it smaller.", limit=3))
    assert (told, body["status"], body["code"], body["limit"]) == (status, status, kind.code, 3)
    assert body["errors"] == [{"field": "file", "message": "It is too big.", "remedy": "Make it smaller."}]
    assert body["remedy"] == "Make it smaller."


def test_a_body_that_is_not_json_is_told_as_a_problem(cast):
    answer = cast.client(cast.alice).post("/api/v1/projects", "{", content_type="application/json")
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert answer.json()["code"] == "parse_error"


def test_a_verb_that_is_not_there_is_told_as_a_problem(cast):
    answer = cast.client(cast.alice).put("/api/v1/projects", {})
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


def test_a_wrong_cursor_is_told_as_a_problem(cast):
    answer = cast.client(cast.alice).get("/api/v1/projects?cursor=nonsense")
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert [e["field"] for e in answer.json()["errors"]] == ["cursor"]


def test_several_wrong_fields_are_all_named(cast):
    answer = cast.client(cast.alice).post("/api/v1/projects", {"organisation": "A"})
    assert {e["field"] for e in answer.json()["errors"]} == {"organisation", "name"}
