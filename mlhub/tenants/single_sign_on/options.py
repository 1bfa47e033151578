# SPDX-License-Identifier: Apache-2.0
"""The options of single sign-on, checked when the settings are read. Imports no Django: the settings import it."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from mlhub.tenants.roles import Role

NEW_USERS = ("none", "mapped", "all")


@dataclass(frozen=True)
class SingleSignOn:
    """One OpenID Connect provider. Raises ValueError, naming the setting, for options that cannot work.

    roles: for each group the role in each organisation, by the organisation's name. new_users: who gets an account at
    the first sign-in: no one, people of a group in roles, or everybody whom the provider lets in.
    links_by_email: whether an account of the same verified address becomes theirs. replaces_second_factor: whether
    MLHub asks people who come from the provider for no code. session_hours: after which they sign in again.
    """

    issuer: str
    client_id: str
    client_secret: str = ""
    name: str = "single sign-on"
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    username_claim: str = "preferred_username"
    groups_claim: str = "groups"
    roles: Mapping[str, Mapping[str, Role]] = field(default_factory=dict)
    new_users: str = "mapped"
    links_by_email: bool = False
    replaces_second_factor: bool = True
    session_hours: float = 24.0

    def __post_init__(self) -> None:
        if not is_safe_url(self.issuer):
            raise ValueError(f"MLHUB_OIDC_ISSUER is {self.issuer!r}; give an https address, without query.")
        if not self.client_id:
            raise ValueError("MLHUB_OIDC_ISSUER needs MLHUB_OIDC_CLIENT_ID: the name of MLHub at the provider.")
        if "openid" not in self.scopes:
            raise ValueError("MLHUB_OIDC_SCOPES must contain openid; without it providers send no identity.")
        if self.new_users not in NEW_USERS:
            raise ValueError(f"MLHUB_OIDC_NEW_USERS is {self.new_users!r}; known: {', '.join(NEW_USERS)}.")
        if self.session_hours <= 0:
            raise ValueError(f"MLHUB_OIDC_SESSION_HOURS is {self.session_hours}; give more than 0.")


def is_safe_url(url: str) -> bool:
    """Whether secrets may be sent there: by https, or by http to this machine itself."""
    parts = urlsplit(url)
    if not parts.hostname or parts.query or parts.fragment:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and _is_this_machine(parts.hostname))


def read_roles(text: str) -> dict[str, dict[str, Role]]:
    """Reads {"group": {"organisation": "role"}}. Raises ValueError naming what is wrong; "" maps no group."""
    try:
        found = json.loads(text or "{}")
    except json.JSONDecodeError as error:
        raise ValueError(f"MLHUB_OIDC_ROLES is no JSON: {error}.") from error
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise ValueError('MLHUB_OIDC_ROLES must look like {"group": {"organisation": "role"}}.')
    return {group: {name: _role(role, group) for name, role in each.items()} for group, each in found.items()}


def _role(word: object, group: str) -> Role:
    if word not in list(Role):
        raise ValueError(f"MLHUB_OIDC_ROLES: {group} has the role {word!r}; known: {', '.join(Role)}.")
    return Role(str(word))


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
