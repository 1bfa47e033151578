# SPDX-License-Identifier: Apache-2.0
"""How an API server says no: a type for each kind of refusal, with the server's own words. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from mlhub.backends.protocol import BackendUnavailableError

MISSING_RIGHT = re.compile(r'User ".*" cannot \w+ resource')
POLICY_WORDS = ("violates PodSecurity", "admission webhook", "ValidatingAdmissionPolicy", "denied the request")
WEBHOOK_AWAY = "failed calling webhook"
PASSING_WORDS = ("is being terminated", "serviceaccount ", WEBHOOK_AWAY)


class ApiError(Exception):
    """The API server refused the request. Final for this request. reason: the API's own word for it."""

    def __init__(self, status: int, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.status, self.reason = status, reason

    @property
    def is_policy(self) -> bool:
        """An admission plugin, a webhook or a policy of the cluster said no. Their status is what they choose."""
        return any(words in str(self) for words in POLICY_WORDS)

    @property
    def is_right(self) -> bool:
        """MLHub's account lacks a right, or is not known at all."""
        return self.status == 401 or (not self.is_policy and MISSING_RIGHT.search(str(self)) is not None)

    @property
    def is_quota(self) -> bool:
        return "exceeded quota" in str(self)

    @property
    def is_passing(self) -> bool:
        """It may be otherwise in a moment: a namespace is just being removed, its account is not there yet, or a
        webhook that must be asked does not answer."""
        return any(words in str(self) for words in PASSING_WORDS)


class KubeNotFoundError(ApiError):
    pass


class KubeConflictError(ApiError):
    """The object exists already, or was changed by another client in between."""

    @property
    def is_race(self) -> bool:
        """Another client's change came in between; the same request may succeed now."""
        return self.reason == "Conflict"


class ForbiddenError(ApiError):
    """A right is missing, a quota is used up, or a policy of the cluster does not allow the object."""


class ExpiredError(ApiError):
    """The resourceVersion is too old: list anew."""


ERRORS: Mapping[int, type[ApiError]] = {
    401: ForbiddenError,
    403: ForbiddenError,
    404: KubeNotFoundError,
    409: KubeConflictError,
    410: ExpiredError,
}


def error_of(status: int, content: bytes) -> ApiError | BackendUnavailableError:
    """BackendUnavailableError where the API server itself is away or busy.

    A webhook's denial is a refusal whatever status it chose. So is a webhook that does not answer: it is asked about
    some objects only, and other requests go on.
    """
    message = message_of(status, content)
    is_webhook = "denied the request" in message or WEBHOOK_AWAY in message
    if (status == 429 or status >= 500) and not is_webhook:
        return BackendUnavailableError(message)
    return ERRORS.get(status, ApiError)(status, message_of(status, content), _reason_of(content))


def _reason_of(content: bytes) -> str:
    try:
        return str(json.loads(content).get("reason") or "")
    except (ValueError, AttributeError):
        return ""


def message_of(status: int, content: bytes) -> str:
    try:
        return str(json.loads(content)["message"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {status}: {content[:200].decode(errors='replace')}"
