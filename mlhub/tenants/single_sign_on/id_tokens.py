# SPDX-License-Identifier: Apache-2.0
"""ID tokens: which of them count. Source: OpenID Connect Core 1.0, section 3.1.3.7; RFC 8725 for the algorithms."""

from __future__ import annotations

import time
from typing import Any

from joserfc import jwt
from joserfc.errors import BadSignatureError, ClaimError, InvalidKeyIdError, JoseError
from joserfc.jws import JWSRegistry
from joserfc.jwt import JWTClaimsRegistry

from mlhub.core.errors import NotAllowedError
from mlhub.tenants.single_sign_on.discovery import discovery_of, keys_of
from mlhub.tenants.single_sign_on.options import SingleSignOn

LEEWAY_S = 60  # by which the clocks of provider and platform may differ
# Signatures of a private key only: "none" is no signature, and HS256 would accept the public key as a secret
ALGORITHMS = frozenset(
    ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
)


def verified_claims(id_token: str, *, options: SingleSignOn, nonce: str) -> dict[str, Any]:
    """The claims of a token that the provider signed for this platform and this very sign-in.

    Raises NotAllowedError naming what is wrong, UnavailableError when the keys cannot be read.
    """
    try:
        claims = _signed_claims(id_token, options)
        _expected(options, nonce).validate(claims)
    except ClaimError as error:
        raise untrusted(options, f"its claim {error.claim} is missing, wrong or out of date") from error
    except (JoseError, ValueError) as error:
        raise untrusted(options, "its signature is not that of the provider") from error
    audience, party = claims["aud"], claims.get("azp")
    is_for_others_too = isinstance(audience, list) and len(audience) > 1
    if (party is not None or is_for_others_too) and party != options.client_id:
        raise untrusted(options, "its claim azp names another client")
    return claims


def untrusted(options: SingleSignOn, reason: str) -> NotAllowedError:
    return NotAllowedError(
        f"The identity that {options.name} sent is refused: {reason}.",
        code="identity_refused",
        remedy="Sign in again. If it goes on, an administrator compares MLHUB_OIDC_* with the provider's settings.",
    )


def _signed_claims(id_token: str, options: SingleSignOn) -> dict[str, Any]:
    """Keys are read again when the token's key is not known, or when another one has taken its id."""
    allowed = sorted(ALGORITHMS & set(discovery_of(options).algorithms))
    if not allowed:  # an empty list would mean the library's own default
        raise untrusted(options, "the provider signs with no algorithm that counts")
    registry = JWSRegistry(algorithms=allowed, strict_check_header=False)
    try:
        return jwt.decode(id_token, keys_of(options), registry=registry).claims
    except (InvalidKeyIdError, BadSignatureError):
        return jwt.decode(id_token, keys_of(options, is_fresh=True), registry=registry).claims


def _expected(options: SingleSignOn, nonce: str) -> JWTClaimsRegistry:
    return JWTClaimsRegistry(
        now=int(time.time()),
        leeway=LEEWAY_S,
        iss={"essential": True, "value": options.issuer},
        sub={"essential": True},
        aud={"essential": True, "value": options.client_id},
        exp={"essential": True},
        iat={"essential": True},
        nonce={"essential": True, "value": nonce},
    )
