# SPDX-License-Identifier: Apache-2.0
"""A sign-in that has begun and waits for the provider's answer: kept by the browser alone, in an encrypted cookie.

The cookie binds the answer to the browser that began it; nothing is stored for strangers. It is SameSite=Lax, as the
browser comes back from another site.
"""

from __future__ import annotations

import dataclasses
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlhub.tenants.sign_in.secret_cookies import read_secret_cookie, set_secret_cookie

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

COOKIE, PATH = "mlhub_single_sign_on", "/single-sign-on"
MAX_AGE_S = 600


@dataclass(frozen=True)
class BegunSignIn:
    """next: the address of the dashboard to go to. linking: the id of the user who links an identity, or ""."""

    state: str
    nonce: str
    verifier: str
    next: str = "/"
    linking: str = ""

    @classmethod
    def new(cls, *, next: str, linking: str = "") -> BegunSignIn:
        """256 random bits for each of state, nonce and verifier."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        return cls(state, nonce, verifier, next, linking)


def remember(response: HttpResponseBase, begun: BegunSignIn) -> None:
    """One sign-in a browser: a newer one takes the place of an earlier one."""
    set_secret_cookie(response, COOKIE, dataclasses.asdict(begun), max_age_s=MAX_AGE_S, path=PATH)


def recall(request: HttpRequest) -> BegunSignIn | None:
    """What the browser began; None for nothing, for what another key encrypted, and after ten minutes."""
    found = read_secret_cookie(request, COOKIE, max_age_s=MAX_AGE_S)
    return None if found is None else BegunSignIn(**found)


def forget(response: HttpResponseBase) -> None:
    """After the answer, whatever it was: an answer counts once."""
    response.delete_cookie(COOKIE, path=PATH, samesite="Lax")
