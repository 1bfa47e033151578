# SPDX-License-Identifier: Apache-2.0
"""Single sign-on as the environment sets it up: MLHUB_OIDC_*, and who may still sign in with a password."""

from __future__ import annotations

import os

import environ
from django.core.exceptions import ImproperlyConfigured

from mlhub.settings.secret_values import secret_value
from mlhub.tenants.single_sign_on.options import SingleSignOn, read_roles

EVERYBODY = "everybody"


def read_single_sign_on(env: environ.Env) -> SingleSignOn | None:
    """None without MLHUB_OIDC_ISSUER. Raises ImproperlyConfigured for options that cannot work."""
    issuer = env.str("MLHUB_OIDC_ISSUER", default="")
    client_id = env.str("MLHUB_OIDC_CLIENT_ID", default="")
    options = {
        "name": env.str("MLHUB_OIDC_NAME", default="single sign-on"),
        "scopes": tuple(env.str("MLHUB_OIDC_SCOPES", default="openid profile email").split()),
        "username_claim": env.str("MLHUB_OIDC_USERNAME_CLAIM", default="preferred_username"),
        "groups_claim": env.str("MLHUB_OIDC_GROUPS_CLAIM", default="groups"),
        "new_users": env.str("MLHUB_OIDC_NEW_USERS", default="mapped"),
        "links_by_email": env.bool("MLHUB_OIDC_LINK_BY_EMAIL", default=False),
        "replaces_second_factor": env.bool("MLHUB_OIDC_REPLACES_SECOND_FACTOR", default=True),
        "session_hours": env.float("MLHUB_OIDC_SESSION_HOURS", default=24.0),
    }
    secret = secret_value(os.environ, "MLHUB_OIDC_CLIENT_SECRET")
    try:
        roles = read_roles(secret_value(os.environ, "MLHUB_OIDC_ROLES"))
        if not issuer:
            return None
        return SingleSignOn(issuer=issuer, client_id=client_id, client_secret=secret, roles=roles, **options)
    except ValueError as error:
        raise ImproperlyConfigured(str(error)) from error


def read_password_users(env: environ.Env, single_sign_on: SingleSignOn | None) -> frozenset[str] | None:
    """The administrators who may sign in with a password; None: everybody may. Raises ImproperlyConfigured."""
    text = env.str("MLHUB_PASSWORD_SIGN_IN", default="everybody")
    if text == EVERYBODY:
        return None
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ImproperlyConfigured(
            "MLHUB_PASSWORD_SIGN_IN is empty; give everybody, or the names of administrators who get in when the "
            "provider of single sign-on does not answer."
        )
    if single_sign_on is None:
        raise ImproperlyConfigured(
            "MLHUB_PASSWORD_SIGN_IN names users; all others need single sign-on: MLHUB_OIDC_ISSUER."
        )
    return names
