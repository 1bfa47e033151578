# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, as one hierarchy of exceptions: refusals, cuts, and jobs that end early."""

from __future__ import annotations

from typing import Any

import httpx


class ClientError(Exception):
    """The base of everything that mlhub.client raises about the platform."""


class Refused(ClientError):  # noqa: N818 (it reads as what happened)
    """The platform refused the request, or what it was to make failed.

    field: the part that is wrong; remedy: what helps; "" where not given. status: of HTTP, None where there was none;
    code: for programs, such as "invalid_input"; problem: all that the platform answered (RFC 9457).
    """

    def __init__(self, problem: dict[str, Any], status: int | None = None) -> None:
        first = next(iter(problem.get("errors") or [{}]))
        self.field = str(problem.get("field") or first.get("field") or "")
        self.remedy = str(problem.get("remedy") or first.get("remedy") or "")
        self.status = status or problem.get("status")
        self.code = str(problem.get("code") or "")
        self.problem = problem
        super().__init__(f"{problem.get('detail') or problem.get('message')} {self.remedy}".strip())


class NotSignedIn(Refused):
    """401: the token is missing, wrong or expired."""


class NotAllowed(Refused):
    """403: the token's owner may not do this, or its scopes do not cover it."""


class Absent(Refused):
    """404: there is no such thing, or none that the token's owner may see."""


class Conflicting(Refused):
    """409, 412 or 423: what is there now does not allow it."""


class BadRequest(Refused):
    """Any other 4xx, such as 400, 413 and 422: something of the request is wrong; `field` names it."""


class OverLimit(Refused):
    """429, after as many repetitions as the client's patience allows."""


class PlatformFailed(Refused):
    """5xx: the platform, or a part of it, is away."""


class Unreachable(ClientError, httpx.TransportError):  # noqa: N818 (it reads as what happened)
    """No answer arrived within the client's patience."""


class Unfinished(ClientError):  # noqa: N818 (it reads as what happened)
    """A job that was cancelled or paused while it was waited for."""


BY_STATUS = {
    401: NotSignedIn,
    403: NotAllowed,
    404: Absent,
    409: Conflicting,
    412: Conflicting,
    423: Conflicting,
    429: OverLimit,
}


def refusal_of(answer: httpx.Response) -> Refused:
    """The exception for an answer that is no success. Its body must have been read."""
    status = answer.status_code
    try:
        problem = answer.json()
    except ValueError:
        problem = None
    if not isinstance(problem, dict):  # a proxy's page
        problem = {"detail": f"{answer.request.method} {answer.request.url.path}: HTTP {status}"}
    kind = BY_STATUS.get(status) or (PlatformFailed if status >= 500 else BadRequest)
    return kind(problem, status)


def content_of(answer: httpx.Response) -> Any:
    """The JSON of an answer, None when it has no body. Raises Refused for an error, and for a body that is no JSON."""
    if not answer.is_success:
        raise refusal_of(answer)
    if not answer.content:
        return None
    try:
        return answer.json()
    except ValueError:
        detail = f"{answer.request.method} {answer.request.url.path}: the answer is no JSON."
        raise Refused({"detail": detail, "remedy": "Is the address that of an MLHub?"}, answer.status_code) from None


def usable_token(text: str) -> str:
    """The token without space around it, such as the line end of a file.

    Raises NotSignedIn for what no header can have, and does not show it.
    """
    token = text.strip()
    if token.isascii() and token.isprintable():
        return token
    detail = "The token has characters that no API token has."
    raise NotSignedIn({"status": 401, "detail": detail, "remedy": "Copy it again, without the text around it."})
