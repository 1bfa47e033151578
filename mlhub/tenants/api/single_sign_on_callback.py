# SPDX-License-Identifier: Apache-2.0
"""Where the provider sends the browser back to. It is no address of the API: providers add parameters of their own.

What went wrong is kept in an encrypted cookie for a minute, and the page that the browser is led to shows it: a text in
the address could be anybody's.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from mlhub.core.errors import DomainError, NotFoundError
from mlhub.core.rate_limits.requests import charge_address
from mlhub.tenants.actions.sign_in.identities import link_identity
from mlhub.tenants.actions.sign_in.single_sign_on import enter
from mlhub.tenants.sign_in.authentication import caller_of_session
from mlhub.tenants.sign_in.lockout import remember_browser
from mlhub.tenants.sign_in.secret_cookies import read_secret_cookie, set_secret_cookie
from mlhub.tenants.single_sign_on.begun import BegunSignIn, forget, recall
from mlhub.tenants.single_sign_on.options import SingleSignOn
from mlhub.tenants.single_sign_on.provider import ProviderIdentity, identity_of_answer

if TYPE_CHECKING:
    from mlhub.tenants.models import User

REFUSAL, REFUSAL_AGE_S = "mlhub_sign_in_refusal", 60
WAITING, WAITING_AGE_S = "mlhub_code_waits", 300
CODE_PATH = "/api/v1/auth/single-sign-on"


def single_sign_on() -> SingleSignOn:
    """Raises NotFoundError where none is set up."""
    options: SingleSignOn | None = settings.SINGLE_SIGN_ON
    if options is None:
        raise NotFoundError("This MLHub has no single sign-on.", remedy="Sign in with a password.")
    return options


@never_cache
@require_GET
def callback(request: HttpRequest) -> HttpResponse:
    """Signs in, or links the identity to the account that is signed in, and leads on; every answer counts once."""
    begun = recall(request)
    try:
        charge_address(request)
        options = single_sign_on()
        identity = identity_of_answer(options, begun, request.GET.dict())
        response = _accept(request, options, begun, identity)
    except DomainError as error:
        response = _refuse(begun, error)
    forget(response)
    return response


def read_refusal(request: HttpRequest) -> dict[str, Any] | None:
    """Code, message and remedy of the sign-in that failed in this browser just now."""
    return read_secret_cookie(request, REFUSAL, max_age_s=REFUSAL_AGE_S)


def waiting_identity(request: HttpRequest) -> ProviderIdentity | None:
    """Whom the provider vouched for, up to five minutes ago, and whose code is still missing."""
    found = read_secret_cookie(request, WAITING, max_age_s=WAITING_AGE_S)
    return None if found is None else ProviderIdentity(**{**found, "groups": tuple(found["groups"])})


def finish_sign_in(request: HttpRequest, response: HttpResponse, user: User) -> None:
    """What every response that starts a session carries."""
    remember_browser(request, response, username=user.username)
    response.delete_cookie(REFUSAL, samesite="Lax")
    response.delete_cookie(WAITING, path=CODE_PATH, samesite="Lax")


def _accept(
    request: HttpRequest, options: SingleSignOn, begun: BegunSignIn | None, identity: ProviderIdentity
) -> HttpResponse:
    if begun is not None and begun.linking:
        link_identity(caller_of_session(request, begun.linking), identity)
        return HttpResponseRedirect(begun.next)
    after = begun.next if begun else "/"
    try:
        user = enter(request, options, identity)
    except DomainError as error:
        if error.code != "second_factor_needed":
            raise
        response = HttpResponseRedirect("/sign-in?" + urlencode({"code": "1", "next": after}))
        set_secret_cookie(response, WAITING, dataclasses.asdict(identity), max_age_s=WAITING_AGE_S, path=CODE_PATH)
        return response
    response = HttpResponseRedirect(after)
    finish_sign_in(request, response, user)
    return response


def _refuse(begun: BegunSignIn | None, error: DomainError) -> HttpResponse:
    """Back to the page where it began."""
    is_linking = begun is not None and begun.linking
    query = {"refused": "1"} if begun is None or begun.linking else {"refused": "1", "next": begun.next}
    response = HttpResponseRedirect(("/account?" if is_linking else "/sign-in?") + urlencode(query))
    words = {"code": error.code, "message": error.message, "remedy": error.remedy}
    set_secret_cookie(response, REFUSAL, words, max_age_s=REFUSAL_AGE_S, path="/")
    return response
