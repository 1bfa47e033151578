# SPDX-License-Identifier: Apache-2.0
"""The authorization code flow with PKCE: where the browser is sent, and what its code is worth.

Source: OpenID Connect Core 1.0, RFC 6749, RFC 7636 (PKCE, S256), RFC 9207 (the answer's issuer).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus, urlencode

import httpx
from django.conf import settings

from mlhub.core.errors import NotAllowedError
from mlhub.core.security.certificates import configured_authorities
from mlhub.tenants.single_sign_on.begun import BegunSignIn
from mlhub.tenants.single_sign_on.discovery import TIMEOUT_S, Discovery, discovery_of, read_json, unavailable
from mlhub.tenants.single_sign_on.id_tokens import untrusted, verified_claims
from mlhub.tenants.single_sign_on.options import SingleSignOn

CALLBACK = "single-sign-on/callback"
MAX_WORDS = 200  # characters of a provider's own explanation that are shown
MAX_SUBJECT = 255  # characters: OpenID Connect Core 1.0, section 2


@dataclass(frozen=True)
class ProviderIdentity:
    """Whom the provider vouches for. (issuer, subject) is the identity; all else may change, and may be empty.

    email: only one that the provider has verified. groups: only those that MLHUB_OIDC_ROLES maps.
    """

    issuer: str
    subject: str
    username: str
    email: str
    groups: tuple[str, ...]


def authorization_url(options: SingleSignOn, begun: BegunSignIn) -> str:
    """The provider's page for this sign-in. Raises UnavailableError."""
    endpoint = discovery_of(options).authorization_endpoint
    challenge = base64.urlsafe_b64encode(hashlib.sha256(begun.verifier.encode()).digest()).rstrip(b"=").decode()
    query = {
        "response_type": "code",
        "client_id": options.client_id,
        "redirect_uri": redirect_uri(),
        "scope": " ".join(options.scopes),
        "state": begun.state,
        "nonce": begun.nonce,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    return endpoint + ("&" if "?" in endpoint else "?") + urlencode(query)


def redirect_uri() -> str:
    """The address that the provider must know of MLHub, exactly so."""
    return f"{settings.PUBLIC_URL}/{CALLBACK}"


def identity_of_answer(options: SingleSignOn, begun: BegunSignIn | None, answer: Mapping[str, str]) -> ProviderIdentity:
    """The identity behind the query with which the provider sends the browser back.

    begun: what this browser began; None when it began nothing. Raises NotAllowedError, UnavailableError.
    """
    if begun is None or not hmac.compare_digest(begun.state.encode(), answer.get("state", "").encode()):
        raise NotAllowedError(
            "This sign-in was not begun in this browser, or more than ten minutes ago.",
            code="sign_in_not_begun",
            remedy="Begin again, here on this page.",
        )
    discovery = discovery_of(options)
    if (discovery.names_itself or "iss" in answer) and answer.get("iss") != options.issuer:
        raise untrusted(options, "the answer is of another provider")
    if "code" not in answer:
        raise _refused(options, answer)
    tokens = _tokens(options, discovery, code=answer["code"], verifier=begun.verifier)
    claims = verified_claims(str(tokens.get("id_token")), options=options, nonce=begun.nonce)
    return _identity(options, claims | _further_claims(options, discovery, claims, tokens))


def _tokens(options: SingleSignOn, discovery: Discovery, *, code: str, verifier: str) -> dict[str, Any]:
    """Exchanges the code, which works once. Raises NotAllowedError when the provider refuses it."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri(),
        "code_verifier": verifier,
    }
    auth = None
    if options.client_secret and "client_secret_basic" in discovery.secret_methods:
        auth = httpx.BasicAuth(quote_plus(options.client_id), quote_plus(options.client_secret))
    else:
        secret = {"client_secret": options.client_secret} if options.client_secret else {}
        form |= {"client_id": options.client_id, **secret}
    try:
        answer = httpx.post(
            discovery.token_endpoint,
            data=form,
            auth=auth,
            timeout=TIMEOUT_S,
            follow_redirects=False,
            verify=configured_authorities(),
        )
        found = answer.json()
    except (httpx.HTTPError, ValueError) as error:
        raise unavailable(options, f"{discovery.token_endpoint}: {type(error).__name__}") from error
    if not isinstance(found, dict) or not answer.is_success:
        raise _refused(options, found if isinstance(found, dict) else {})
    return found


def _further_claims(
    options: SingleSignOn, discovery: Discovery, claims: Mapping[str, Any], tokens: Mapping[str, Any]
) -> dict[str, Any]:
    """Those that the provider gives at its userinfo endpoint only (GitLab's groups), if it is about the same person."""
    wanted = {"email", "email_verified", options.username_claim, options.groups_claim} - claims.keys()
    if not wanted or not discovery.userinfo_endpoint or not tokens.get("access_token"):
        return {}
    token = str(tokens["access_token"])
    found = read_json(discovery.userinfo_endpoint, options=options, access_token=token)
    if found.get("sub") != claims["sub"]:
        raise untrusted(options, "its userinfo is about another person")
    return {name: found[name] for name in wanted if name in found}


def _identity(options: SingleSignOn, claims: Mapping[str, Any]) -> ProviderIdentity:
    subject = claims["sub"]
    if not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT:
        raise untrusted(options, "its claim sub is no text, empty or too long")
    groups = claims.get(options.groups_claim) or []
    groups = [groups] if isinstance(groups, str) else groups
    if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
        raise untrusted(options, f"its claim {options.groups_claim} is no list of names")
    is_verified = claims.get("email_verified") in (True, "true")
    return ProviderIdentity(
        issuer=options.issuer,
        subject=claims["sub"],
        username=_text(claims.get(options.username_claim)),
        email=_text(claims.get("email")) if is_verified else "",
        groups=tuple(sorted({group for group in groups if group in options.roles})),
    )


def _text(found: Any) -> str:
    return found.strip() if isinstance(found, str) and found.isprintable() else ""


def _refused(options: SingleSignOn, answer: Mapping[str, Any]) -> NotAllowedError:
    words = str(answer.get("error_description") or answer.get("error") or "no reason given")
    shown = "".join(character for character in words if character.isprintable())[:MAX_WORDS]
    return NotAllowedError(
        f"{options.name} refused the sign-in: {shown}",
        code="provider_refused",
        remedy="Sign in again, or ask the administrators of your provider whether you may use MLHub.",
    )
