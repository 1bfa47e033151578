# SPDX-License-Identifier: Apache-2.0
"""The settings of single sign-on: read from the environment, and refused by name when they cannot work."""

from __future__ import annotations

import environ
import pytest
from django.core.exceptions import ImproperlyConfigured

from mlhub.settings.single_sign_on import read_password_users, read_single_sign_on
from mlhub.tenants.roles import Role

ENV = environ.Env()
ISSUER, CLIENT = ("MLHUB_OIDC_ISSUER", "https://login.example.org"), ("MLHUB_OIDC_CLIENT_ID", "mlhub")


def test_without_an_issuer_there_is_no_single_sign_on():
    assert read_single_sign_on(ENV) is None
    assert read_password_users(ENV, None) is None


def test_secret_and_roles_come_from_files_too(monkeypatch, tmp_path):
    (tmp_path / "secret").write_text("s3cret\n")
    (tmp_path / "roles").write_text('{"ml": {"Acme": "member", "Labs": "viewer"}}')
    for name, value in (ISSUER, CLIENT, ("MLHUB_OIDC_SCOPES", "openid groups")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MLHUB_OIDC_CLIENT_SECRET_FILE", str(tmp_path / "secret"))
    monkeypatch.setenv("MLHUB_OIDC_ROLES_FILE", str(tmp_path / "roles"))
    found = read_single_sign_on(ENV)
    assert found is not None
    assert (found.client_secret, found.scopes) == ("s3cret", ("openid", "groups"))
    assert found.roles == {"ml": {"Acme": Role.MEMBER, "Labs": Role.VIEWER}}
    monkeypatch.setenv("MLHUB_PASSWORD_SIGN_IN", "root, admin")
    assert read_password_users(ENV, found) == {"root", "admin"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MLHUB_OIDC_ISSUER", "http://login.example.org"),
        ("MLHUB_OIDC_ISSUER", "login.example.org"),
        ("MLHUB_OIDC_ISSUER", "https://login.example.org/?realm=lab"),
        ("MLHUB_OIDC_CLIENT_ID", ""),
        ("MLHUB_OIDC_SCOPES", "profile email"),
        ("MLHUB_OIDC_NEW_USERS", "some"),
        ("MLHUB_OIDC_SESSION_HOURS", "0"),
        ("MLHUB_OIDC_ROLES", "{"),
        ("MLHUB_OIDC_ROLES", '["ml"]'),
        ("MLHUB_OIDC_ROLES", '{"ml": "Acme"}'),
        ("MLHUB_OIDC_ROLES", '{"ml": {"Acme": "boss"}}'),
    ],
)
def test_options_that_cannot_work_are_refused_by_name(monkeypatch, name, value):
    for setting, usual in (ISSUER, CLIENT):
        monkeypatch.setenv(setting, usual)
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured, match=name):
        read_single_sign_on(ENV)


@pytest.mark.parametrize("value", ["root", "", " , "])
def test_passwords_are_not_taken_from_everybody_without_another_way_in(monkeypatch, value):
    monkeypatch.setenv("MLHUB_PASSWORD_SIGN_IN", value)
    with pytest.raises(ImproperlyConfigured, match="MLHUB_PASSWORD_SIGN_IN"):
        read_password_users(ENV, None)
