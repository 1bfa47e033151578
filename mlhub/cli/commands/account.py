# SPDX-License-Identifier: Apache-2.0
"""mlhub login, logout, forgot-password, whoami: who the command line is to the platform."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import httpx
import typer

from mlhub.cli import credentials
from mlhub.cli.commands.announcements import note_announcements
from mlhub.cli.confirmation import hidden_answer
from mlhub.cli.failures import CommandError, CommandStatus
from mlhub.cli.session import session_of
from mlhub.client.api import Api, Refused, content_of

TOKEN_DAYS = 90
SCOPES = ("read", "write")


def login(
    context: typer.Context,
    url: Annotated[str, typer.Argument(help="Address of the platform.")] = "",
    username: Annotated[str, typer.Option(help="Asked for when left out.")] = "",
    token: Annotated[str | None, typer.Option(help="Keep this API token instead of making one.")] = None,
    admin: Annotated[bool, typer.Option("--admin", help="Also for what platform administrators alone may do.")] = False,
) -> None:
    """Sign in: makes an API token (90 days) and keeps it in a file that only you may read.

    Asks for your password and, if your account has a second factor, for its code.
    """
    if token and admin:
        raise CommandError("--admin is for a token that is made; what --token may do is settled.")
    session = session_of(context)
    address = credentials.find(url or session.url, None).url
    if not token:
        name = username or typer.prompt("Username", err=True)
        password = hidden_answer("Password")
        token = _made_token(address, name, password, [*SCOPES, "admin"] if admin else [*SCOPES])
    me = Api(address, token).get("/auth/me")
    path = credentials.keep(credentials.Credentials(address, token))
    session.output.note(f"Signed in at {address} as {me['username']}; the token is in {path}.")


def logout(context: typer.Context) -> None:
    """Forget the kept token (it stays valid until it expires, or is revoked on the page API tokens)."""
    session_of(context).output.note("Signed out." if credentials.forget() else "You were not signed in.")


def forgot_password(
    context: typer.Context,
    account: Annotated[str, typer.Argument(help="Your user name, or your e-mail address.")],
) -> None:
    """Get a link to set a new password by e-mail."""
    session = session_of(context)
    address = credentials.find(session.url, session.token).url
    with httpx.Client(base_url=f"{address}/api/v1", timeout=60, follow_redirects=True) as http:
        content_of(http.post("/auth/forgotten-password", json={"account": account}))
    session.output.note(f"If {account} signs in at {address} with a password, a link is on its way to its address.")


def whoami(context: typer.Context) -> None:
    """Who you are, where, and in which organisations."""
    session = session_of(context)
    me: dict[str, Any] = session.api.get("/auth/me")
    session.output.data({"url": session.api.url, **me})
    note_announcements(session)


def _made_token(url: str, username: str, password: str, scopes: list[str]) -> str:
    wanted = {"name": f"mlhub on {platform.node()}"[:100], "scopes": scopes, "expires_in_days": TOKEN_DAYS}
    with signed_in(url, username, password) as post:
        return str(post("/tokens", wanted)["token"])


@contextmanager
def signed_in(url: str, username: str, password: str) -> Iterator[Callable[[str, dict[str, Any]], Any]]:
    """A session of its own for what no token may do: gives a function that posts in it, and signs out at the end.

    Raises CommandError where name, password or code are refused.
    """
    with httpx.Client(base_url=f"{url}/api/v1", timeout=60, follow_redirects=True) as http:
        http.get("/auth/csrf")
        try:
            _sign_in(http, {"username": username, "password": password})
        except Refused as error:
            raise CommandError(str(error), code=CommandStatus.NOT_SIGNED_IN) from error
        try:
            yield lambda address, body: content_of(http.post(address, json=body, headers=_csrf(http)))
        finally:
            http.post("/auth/logout", headers=_csrf(http))


def _sign_in(http: httpx.Client, sent: dict[str, str]) -> None:
    """Asks for a code where the account has a second factor. Raises Refused."""
    try:
        content_of(http.post("/auth/login", json=sent, headers=_csrf(http)))
    except Refused as error:
        if error.code != "second_factor_needed":
            raise
        code = typer.prompt("Code of your authenticator app, or a recovery code", err=True)
        content_of(http.post("/auth/login", json={**sent, "code": code}, headers=_csrf(http)))


def _csrf(http: httpx.Client) -> dict[str, str]:
    return {"X-CSRFToken": http.cookies.get("csrftoken") or "", "Referer": str(http.base_url)}
