# SPDX-License-Identifier: Apache-2.0
"""What the provider publishes: its addresses (OpenID Connect Discovery 1.0) and the keys that it signs with (JWKS).

Both are kept for an hour in each process. Keys are read again as soon as a token names one that is not known, so that
the provider can rotate them at any time.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import httpx
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key, KeySet

from mlhub.core.errors import UnavailableError
from mlhub.core.security.certificates import configured_authorities
from mlhub.tenants.single_sign_on.options import SingleSignOn, is_safe_url

TIMEOUT_S = 10.0
KNOWN_FOR_S = 3600.0
SIGNING_TYPES = ("RSA", "EC", "OKP")  # never "oct": a shared secret would let its holders sign for the provider
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


@dataclass(frozen=True)
class Discovery:
    """userinfo_endpoint: "" where there is none. algorithms, secret_methods: those that the provider supports.

    names_itself: whether its answers to the browser carry its issuer (RFC 9207).
    """

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str
    algorithms: tuple[str, ...]
    secret_methods: tuple[str, ...]
    names_itself: bool


_discoveries: dict[str, tuple[float, Discovery]] = {}
_keys: dict[str, tuple[float, KeySet]] = {}


def discovery_of(options: SingleSignOn) -> Discovery:
    """Raises UnavailableError when the provider cannot be reached or is not the configured one."""
    read_at, known = _discoveries.get(options.issuer, (0.0, None))
    if known is None or read_at + KNOWN_FOR_S < time.monotonic():
        address = options.issuer.rstrip("/") + "/.well-known/openid-configuration"
        known = _discovery(read_json(address, options=options), options)
        _discoveries[options.issuer] = (time.monotonic(), known)
    return known


def keys_of(options: SingleSignOn, *, is_fresh: bool = False) -> KeySet:
    """The public keys. is_fresh: read them now, whatever is known. Raises UnavailableError."""
    address = discovery_of(options).jwks_uri
    read_at, known = _keys.get(address, (0.0, None))
    if known is None or is_fresh or read_at + KNOWN_FOR_S < time.monotonic():
        listed = read_json(address, options=options).get("keys")
        known = KeySet([key for each in listed if (key := _signing_key(each))] if isinstance(listed, list) else [])
        _keys[address] = (time.monotonic(), known)
    return known


def read_json(address: str, *, options: SingleSignOn, access_token: str = "") -> dict[str, Any]:
    """The JSON object at an address of the provider. Raises UnavailableError."""
    headers = {"Authorization": f"Bearer {access_token}"} if access_token else {}
    try:
        answer = httpx.get(
            address, headers=headers, timeout=TIMEOUT_S, follow_redirects=False, verify=configured_authorities()
        )
        answer.raise_for_status()
        found = answer.json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise unavailable(options, f"{address}: {type(error).__name__}") from error
    if not isinstance(found, dict):
        raise unavailable(options, f"{address} answers with no JSON object")
    return found


def unavailable(options: SingleSignOn, reason: str) -> UnavailableError:
    return UnavailableError(
        f"{options.name} cannot be used now ({reason}).",
        code="single_sign_on_unavailable",
        remedy="Try again in a minute. If it goes on, an administrator checks the provider and MLHUB_OIDC_ISSUER.",
        retry_after_s=60,
    )


def _discovery(found: dict[str, Any], options: SingleSignOn) -> Discovery:
    if found.get("issuer") != options.issuer:
        raise unavailable(options, f"it calls itself {found.get('issuer')!r}, and MLHUB_OIDC_ISSUER {options.issuer!r}")
    endpoints = {name: str(found.get(name) or "") for name in (*ENDPOINTS, "userinfo_endpoint")}
    for name, address in endpoints.items():
        if (address or name in ENDPOINTS) and not is_safe_url(address.partition("?")[0]):
            raise unavailable(options, f"its {name} is {address!r}, which is no https address")
    return Discovery(
        **endpoints,
        algorithms=_words(found.get("id_token_signing_alg_values_supported"), otherwise="RS256"),
        secret_methods=_words(found.get("token_endpoint_auth_methods_supported"), otherwise="client_secret_basic"),
        names_itself=found.get("authorization_response_iss_parameter_supported") is True,
    )


def _words(found: Any, *, otherwise: str) -> tuple[str, ...]:
    return tuple(map(str, found)) if isinstance(found, list) and found else (otherwise,)


def _signing_key(data: Any) -> Key | None:
    """None for keys of other uses, and for those of types that are not known here."""
    if not isinstance(data, dict) or data.get("kty") not in SIGNING_TYPES or data.get("use", "sig") != "sig":
        return None
    try:
        return JWKRegistry.import_key(data)
    except (JoseError, ValueError, TypeError, KeyError):
        return None
