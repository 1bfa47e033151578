# SPDX-License-Identifier: Apache-2.0
"""Domain errors: a stable code, a sentence, facts; no HTTP here. problems.py gives each type its status."""

from __future__ import annotations

from typing import Any


class DomainError(Exception):
    """An error that the caller can correct. field: the input that is wrong; remedy: what to do about it."""

    code = "error"

    def __init__(
        self, message: str, *, code: str | None = None, field: str | None = None, remedy: str = "", **facts: Any
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.field = field
        self.remedy = remedy
        self.facts = facts


class InvalidQueryError(DomainError):
    """The query of the address names what the route does not know, or cannot be read."""

    code = "invalid_query"


class InvalidInputError(DomainError):
    """The input can never be accepted as it is."""

    code = "invalid_input"


class QuotaExceededError(DomainError):
    """The request is over a limit that waiting does not lift; facts name limit, used and asked."""

    code = "quota_exceeded"


class NotAllowedError(DomainError):
    """The caller sees the object but may not do this to it."""

    code = "not_allowed"


class NotFoundError(DomainError):
    """There is no such object, or the caller may not know that there is."""

    code = "not_found"


class ConflictError(DomainError):
    """The object's present state does not admit this; facts name the state."""

    code = "conflict"


class GoneError(DomainError):
    """The caller's right to write has ended (a fenced attempt); never retry."""

    code = "gone"


class TooLargeError(DomainError):
    """The upload is over the platform's limit; facts name it."""

    code = "too_large"


class TooManyAttemptsError(DomainError):
    """The caller must wait before the next attempt; the fact retry_after_s says how long."""

    code = "too_many_attempts"


class RateLimitedError(TooManyAttemptsError):
    """The caller sends requests faster than its limit; facts name limit, quota and window_s."""

    code = "rate_limited"


class UnavailableError(DomainError):
    """Something that the platform stands on cannot be reached; the fact retry_after_s says when to ask again."""

    code = "unavailable"
