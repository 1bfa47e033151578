# SPDX-License-Identifier: Apache-2.0
"""The first administrator of a fresh installation: one, by the one-time code, and by command for scripts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from rest_framework.test import APIClient

from mlhub.events.models import Event
from mlhub.tenants.actions.administration.setup import setup_code
from mlhub.tenants.models import User

SETUP, ME = "/api/v1/auth/setup", "/api/v1/auth/me"
PASSWORD = "correct horse battery"


def printed_code() -> str:
    out = StringIO()
    call_command("setup_code", stdout=out)
    return out.getvalue().strip()


def set_up(client: APIClient, **body: str):
    return client.post(SETUP, {"username": "dora", "password": PASSWORD, **body})


def test_the_first_administrator_signs_up_with_the_printed_code_and_is_signed_in(db):
    client = APIClient()
    assert client.get(SETUP).json() == {"is_needed": True}
    answer = set_up(client, code=printed_code().lower(), organisation="Acme")
    assert answer.status_code == 201
    me = client.get(ME).json()
    assert (me["username"], me["is_staff"]) == ("dora", True)
    assert [(m["organisation"]["name"], m["role"]) for m in me["memberships"]] == [("Acme", "owner")]
    assert client.get(SETUP).json() == {"is_needed": False}
    kinds = list(Event.objects.order_by("id").values_list("kind", flat=True))
    assert kinds == ["user.created", "organisation.created", "membership.created", "session.started"]
    assert "address" in Event.objects.get(kind="user.created").facts


@pytest.mark.parametrize("between", ["", " ", "_", " - "])
def test_what_groups_the_letters_of_the_code_does_not_matter(db, between):
    assert set_up(APIClient(), code=setup_code().replace("-", between)).status_code == 201


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"code": "AAAA-AAAA-AAAA-AAAA"}, 403, "code"),
        ({"password": "short"}, 422, "password"),
        ({"username": "no spaces"}, 422, "username"),
    ],
)
def test_a_refusal_names_the_field_and_makes_no_account(db, body, status, field):
    answer = set_up(APIClient(), **{"code": setup_code(), **body})
    assert answer.status_code == status
    assert answer.json()["errors"][0]["field"] == field
    assert not User.objects.exists()


def test_no_code_works_twice(db):
    code = setup_code()
    assert set_up(APIClient(), code=code).status_code == 201
    assert set_up(APIClient(), code=code, username="eve").json()["code"] == "already_set_up"
    User.objects.update(is_staff=False)  # by hand in the database
    assert set_up(APIClient(), code=code, username="eve").status_code == 403


def test_a_browser_needs_the_csrf_token(db):
    assert set_up(APIClient(enforce_csrf_checks=True), code=setup_code()).status_code == 403
    assert not User.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_of_two_at_once_one_becomes_the_administrator():
    code = setup_code()

    def attempt(name: str) -> int:
        try:
            return set_up(APIClient(), code=code, username=name).status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as threads:
        answers = sorted(threads.map(attempt, ["dora", "eve"]))
    assert answers == [201, 409]
    assert User.objects.filter(is_staff=True).count() == 1


def test_scripts_make_administrators_by_command_and_then_there_is_no_code(db, monkeypatch):
    monkeypatch.setenv("ADMIN_PASSWORD", PASSWORD)
    for _ in range(2):
        call_command("createadmin", "dora", password_env="ADMIN_PASSWORD")
    dora = User.objects.get()
    assert dora.is_staff
    assert dora.check_password(PASSWORD)
    with pytest.raises(CommandError, match="administrator already"):
        printed_code()
