# SPDX-License-Identifier: Apache-2.0
"""What `mlhub doctor` finds of the platform that one is signed in to: address, version, rounds, token and rights, and
whether reports arrive there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from uuid import UUID

import httpx

from mlhub._version import __version__
from mlhub.cli.credentials import Credentials
from mlhub.client.problems import OverLimit, PlatformFailed, Refused, content_of, usable_token
from mlhub.embedded.checks.examiner import CheckResult

TIMEOUT_S = 10.0
ADMIN_ONLY = "what only they may do takes `mlhub login --admin`"
NO_ATTEMPT = UUID(int=0)  # of no job: a report of it is refused, from any sender


def check_access(signed_in: Credentials) -> Iterator[CheckResult]:
    """Looks from here, as commands do; changes nothing. Where the platform is not reached, that is all."""
    with httpx.Client(base_url=signed_in.url, timeout=TIMEOUT_S, follow_redirects=True) as http:
        try:
            answer = http.get("/healthz")
            health = answer.json() if answer.status_code == httpx.codes.OK else {}
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            yield _unreached(signed_in.url, str(error) or type(error).__name__)
            return
        if not isinstance(health, dict) or health.get("status") != "alive":
            yield _unreached(signed_in.url, f"it does not answer as MLHub (status {answer.status_code}).")
            return
        yield CheckResult("web", True, f"MLHub answers at {signed_in.url}.")
        yield _version(str(health.get("version", "")))
        checks: dict[str, Callable[[httpx.Client], Iterator[CheckResult]]] = {
            "rounds": _rounds,
            "token": partial(_rights, token=signed_in.token),
            "ingest": _ingest,
        }
        for name, find in checks.items():
            try:
                yield from find(http)
            except (httpx.HTTPError, ValueError) as error:
                detail = str(error) or type(error).__name__
                yield CheckResult(name, False, detail, "Run `mlhub doctor` again.", has_ended=False)


def _unreached(url: str, why: str) -> CheckResult:
    remedy = "Check the address and the network; `mlhub login ADDRESS` signs in elsewhere."
    return CheckResult("web", False, f"No platform is reached at {url}: {why}", remedy)


def _version(there: str) -> CheckResult:
    if not there:
        return CheckResult("version", True, f"This program is {__version__}; the platform names none.")
    found = f"This program is {__version__}, the platform {there}."
    if there.split(".")[:2] == __version__.split(".")[:2]:  # a minor version may change the API
        return CheckResult("version", True, found)
    return CheckResult("version", False, found, f"Install MLHub {there} here.")


def _rounds(http: httpx.Client) -> Iterator[CheckResult]:
    if http.get("/healthz/rounds").status_code == httpx.codes.OK:
        yield CheckResult("rounds", True, "Scheduling rounds are made.")
        return
    detail = "No scheduling rounds are finished: no job starts."
    yield CheckResult("rounds", False, detail, "Ask an administrator of the platform.")


def _rights(http: httpx.Client, *, token: str) -> Iterator[CheckResult]:
    """The token, then where its user has a role."""
    try:
        me: dict[str, Any] = content_of(
            http.get("/api/v1/auth/me", headers={"Authorization": f"Bearer {usable_token(token)}"})
        )
    except Refused as error:
        if isinstance(error, PlatformFailed | OverLimit):  # the token may be well
            yield CheckResult("token", False, str(error), "Run `mlhub doctor` again.", has_ended=False)
        else:
            yield CheckResult("token", False, str(error), f"Run `mlhub login {str(http.base_url).rstrip('/')}`.")
        return
    yield CheckResult("token", True, f"It is valid; you are {me['username']}.")
    places = ", ".join(membership["organisation"]["name"] for membership in me["memberships"])
    n_projects = len(me["project_roles"])
    if me["is_staff"] and not me["needs_second_factor"]:
        is_whole = _may_administer(http, token=token)
        more = "your token does what only they may do" if is_whole else ADMIN_ONLY
        yield CheckResult("rights", True, f"You are a platform administrator; {more}.")
        return
    if places or n_projects:
        named = f"You are in {places}." if places else "You are in no organisation."
        yield CheckResult("rights", True, f"{named} Projects in which you have a role of your own: {n_projects}.")
        return
    detail = "You are in no organisation, and have a role in no project: no job can be submitted."
    remedy = "Ask for an invitation; an administrator makes one with `mlhub organisation create NAME`."
    yield CheckResult("rights", False, detail, remedy)


def _may_administer(http: httpx.Client, *, token: str) -> bool:
    """Whether the platform lets the token do what only administrators may, such as listing all users."""
    headers = {"Authorization": f"Bearer {usable_token(token)}"}
    return http.get("/api/v1/users", params={"limit": 1}, headers=headers).status_code == httpx.codes.OK


def _ingest(http: httpx.Client) -> Iterator[CheckResult]:
    """Whether a proxy on the way lets a small report through, as pods send them: MLHub refuses it in words."""
    path = f"/api/v1/ingest/attempts/{NO_ATTEMPT}/reports"
    answer = http.post(path, json={}, headers={"Authorization": "Bearer none"})
    kind = answer.headers.get("Content-Type", "").partition(";")[0]
    if answer.is_client_error and kind.endswith("json"):
        yield CheckResult("ingest", True, "A small report arrives.")
        return
    detail = f"A small report was answered with {answer.status_code}, and not by MLHub."
    yield CheckResult(
        "ingest", False, detail, "Let the proxy in front of the platform pass POST requests to /api/v1/ingest/."
    )
