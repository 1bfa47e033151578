# SPDX-License-Identifier: Apache-2.0
"""manage.py create_user, and the administrators' page: both write through the same actions as the API."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client

from mlhub.tenants.models import Membership, Quota, User

PASSWORD = "correct horse battery"


@pytest.fixture
def password_file(tmp_path):
    path = tmp_path / "password"
    path.write_text(PASSWORD + "\n")
    return path


def test_a_user_is_made_with_organisation_and_role_and_made_twice_is_made_once(db, password_file):
    for _ in range(2):
        call_command("create_user", "dora", password_file=password_file, organisation="C", role="owner", staff=True)
    dora = User.objects.get(username="dora")
    assert dora.check_password(PASSWORD)
    assert dora.is_staff
    assert [(m.organisation.name, m.role) for m in Membership.objects.filter(user=dora)] == [("C", "owner")]
    assert Quota.objects.filter(organisation__name="C").exists()


def test_a_role_can_be_changed_by_the_command(db, password_file):
    call_command("create_user", "dora", password_file=password_file, organisation="C")
    call_command("create_user", "dora", password_file=password_file, organisation="C", role="admin")
    assert Membership.objects.get(user__username="dora").role == "admin"


@pytest.mark.parametrize(
    ("options", "word"),
    [({"password_env": "NOT_SET"}, "no password"), ({"password_env": "SHORT"}, "short"), ({"role": "admin"}, "--role")],
)
def test_a_wrong_call_says_what_is_wrong(db, monkeypatch, password_file, options, word):
    monkeypatch.setenv("SHORT", "abc")
    given = options if "password_env" in options else {"password_file": password_file, **options}
    with pytest.raises(CommandError, match=word):
        call_command("create_user", "dora", **given)
    assert not User.objects.filter(username="dora").exists()


def test_the_administrators_page_changes_a_quota_through_the_action(cast):
    client = Client()
    client.force_login(cast.root, backend="django.contrib.auth.backends.ModelBackend")
    answer = client.post(
        f"/admin/tenants/quota/{cast.a.id}/change/",
        {"max_gpus": "3", "max_running_jobs": "", "max_storage_bytes": "", "weight": "1", "half_life_s": "0"},
    )
    assert answer.status_code == 302
    quota = Quota.objects.get(organisation=cast.a)
    assert (quota.max_gpus, quota.version) == (3, 2)
    client.force_login(cast.alice, backend="django.contrib.auth.backends.ModelBackend")
    assert client.get("/admin/tenants/quota/").status_code == 302


@pytest.mark.parametrize("weak", ["short1x", "password123", "92837465012", "dora.meier"])
def test_no_command_makes_an_account_with_a_weak_password(db, monkeypatch, weak):
    monkeypatch.setenv("WEAK", weak)
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", weak)
    with pytest.raises(CommandError):
        call_command("create_user", "dora.meier", password_env="WEAK")
    with pytest.raises(CommandError):
        call_command("createsuperuser", username="dora.meier", email="d@example.org", interactive=False)
    with pytest.raises(ValidationError):
        User.objects.create_user("dora.meier", "d@example.org", weak)
    assert not User.objects.exists()
