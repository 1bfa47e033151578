# SPDX-License-Identifier: Apache-2.0
"""The audit as a file: the same events as in the list, in CSV and in JSON lines."""

from __future__ import annotations

import csv
import io
import json

import pytest

from mlhub.events.actions import append
from mlhub.events.api import export
from tests.cast import Cast, make_cast

EXPORT = "/api/v1/events/export"


@pytest.fixture
def cast(db) -> Cast:
    made = make_cast()
    change = {"before": {"max_gpus": 4}, "after": {"max_gpus": 8}}
    append("quota.changed", organisation=made.a, subject_kind="quota", subject_id=made.a.id, actor=made.alice, **change)
    append("team.created", organisation=made.b, subject_kind="team", subject_id=None, actor=made.charlie, name="x")
    append("project.renamed", organisation=made.a, subject_kind="project", subject_id=None, before="=1+1", after="b")
    return made


def test_csv_says_who_what_before_and_after_and_holds_no_formula(cast):
    answer = cast.client(cast.alice).get(EXPORT)
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert 'filename="mlhub-audit.csv"' in answer["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    shown = [(row["actor"], row["kind"], row["before"], row["after"]) for row in rows]
    assert shown == [
        ("alice", "quota.changed", '{"max_gpus": 4}', '{"max_gpus": 8}'),
        ("", "project.renamed", "'=1+1", "b"),
    ]


def test_json_lines_hold_the_same_and_the_filters_of_the_list_count(cast):
    answer = cast.client(cast.alice).get(EXPORT, {"form": "jsonl", "kind_prefix": "quota."})
    (row,) = [json.loads(line) for line in answer.content.decode().splitlines()]
    assert (row["actor"], row["after"], len(row["hash"])) == ("alice", {"max_gpus": 8}, 64)


def test_no_one_exports_the_events_of_another_organisation(cast):
    mine = cast.client(cast.charlie).get(EXPORT, {"form": "jsonl"}).content.decode().splitlines()
    assert [json.loads(line)["kind"] for line in mine] == ["team.created"]
    assert cast.client(None).get(EXPORT).status_code == 401


def test_too_many_events_are_refused_instead_of_cut_off(cast, monkeypatch):
    monkeypatch.setattr(export, "MAX_EVENTS", 1)
    answer = cast.client(cast.alice).get(EXPORT)
    assert (answer.status_code, answer.json()["code"]) == (422, "too_many_events")


def test_an_unknown_form_is_refused_by_its_field(cast):
    answer = cast.client(cast.alice).get(EXPORT, {"form": "pdf"})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "form")
