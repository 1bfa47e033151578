# SPDX-License-Identifier: Apache-2.0
"""The two ceremonies of WebAuthn: a browser makes a passkey (create), or proves to hold one (get).

What was begun is kept in an encrypted cookie of the browser, with the session and the account that it is for, and
lasts five minutes; the challenge counts once, whatever the answer to it was.
Source: Web Authentication Level 3, sections 7.1 and 7.2. fido2 verifies signatures, challenge and flags; what belongs
to the site (origin, session, account, counter) is compared here and in the actions.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from cryptography.exceptions import UnsupportedAlgorithm
from django.utils import timezone
from fido2.cose import CoseKey
from fido2.server import Fido2Server
from fido2.utils import websafe_encode
from fido2.webauthn import (
    AttestedCredentialData,
    AuthenticationResponse,
    AuthenticatorData,
    CollectedClientData,
    PublicKeyCredentialDescriptor,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialType,
    PublicKeyCredentialUserEntity,
    RegistrationResponse,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from mlhub.core.errors import InvalidInputError, NotFoundError
from mlhub.tenants.models import Passkey, UsedChallenge, User
from mlhub.tenants.passkeys.relying_party import relying_party
from mlhub.tenants.sign_in.secret_cookies import read_secret_cookie, set_secret_cookie

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

COOKIE, PATH = "mlhub_passkey", "/api/v1/auth"
MAX_AGE_S = 300
CREATE, GET = "create", "get"
# what reading bytes of strangers raises, in fido2 and below it
UNREADABLE = (
    ValueError, KeyError, TypeError, IndexError, AttributeError, AssertionError, RecursionError, NotImplementedError,
    struct.error, UnsupportedAlgorithm,
)  # fmt: skip


@dataclass(frozen=True)
class BegunCeremony:
    """ceremony: create or get. session: a hash of the session's key; "" without one. user_id: of who creates, or ""."""

    ceremony: str
    challenge: str
    session: str
    user_id: str = ""


@dataclass(frozen=True)
class Assertion:
    """What a browser sends of a passkey that it used, each in base64url. user_handle: "" where it sent none."""

    id: str
    client_data: str
    authenticator_data: str
    signature: str
    user_handle: str = ""


def begin_creation(request: HttpRequest, user: User) -> tuple[dict[str, Any], BegunCeremony]:
    """The options for navigator.credentials.create(), as its JSON. Raises NotFoundError where there are no passkeys."""
    held = [
        PublicKeyCredentialDescriptor(type=PublicKeyCredentialType.PUBLIC_KEY, id=credential_of(passkey).credential_id)
        for passkey in user.passkeys.all()
    ]
    person = PublicKeyCredentialUserEntity(id=user.pk.bytes, name=user.username, display_name=user.username)
    options, state = _server().register_begin(
        person, held, ResidentKeyRequirement.REQUIRED, UserVerificationRequirement.REQUIRED
    )
    begun = BegunCeremony(CREATE, state["challenge"], _session_of(request), str(user.pk))
    return dict(options.public_key), begun


def begin_assertion(request: HttpRequest) -> tuple[dict[str, Any], BegunCeremony]:
    """The options for navigator.credentials.get(): any passkey of this site, which names its account."""
    options, state = _server().authenticate_begin(None, UserVerificationRequirement.REQUIRED)
    return dict(options.public_key), BegunCeremony(GET, state["challenge"], _session_of(request))


def remember(response: HttpResponseBase, begun: BegunCeremony) -> None:
    """One ceremony a browser: a newer one takes the place of an earlier one."""
    set_secret_cookie(response, COOKIE, asdict(begun), max_age_s=MAX_AGE_S, path=PATH)


def finish_creation(
    request: HttpRequest, user: User, *, attestation: str, client_data: str
) -> tuple[AttestedCredentialData, AuthenticatorData]:
    """The new credential, and the data in which its device attested it.

    Raises InvalidInputError for an answer that does not belong to what was begun.
    """
    state = _used_up(request, CREATE, user_id=str(user.pk))
    try:
        response = {"clientDataJSON": client_data, "attestationObject": attestation}
        # what it is called stands in the attested data, which counts
        found = RegistrationResponse.from_dict({"rawId": "", "response": response})
        _refuse_embedded(found.response.client_data)
        made: AuthenticatorData = _server().register_complete(state, found)
        credential = made.credential_data
        if credential is None:
            raise ValueError("No credential was attested.")
        if credential.public_key[3] not in CoseKey.supported_algorithms():
            raise ValueError("The algorithm is none that was asked for.")
    except UNREADABLE as error:
        raise _wrong() from error
    return credential, made


def finish_assertion(
    request: HttpRequest, assertion: Assertion, passkey: Passkey | None
) -> tuple[Passkey, AuthenticatorData]:
    """The passkey and what its device signed, whose counter the caller compares.

    passkey: None = it is unknown here. Raises InvalidInputError for that, and for all that does not belong to what was
    begun, or to the passkey and its account.
    """
    state = _used_up(request, GET)
    if passkey is None:
        raise InvalidInputError(
            "This passkey belongs to no account here.",
            code="unknown_passkey",
            field="passkey",
            remedy="It may have been removed. Sign in another way, and delete it where your device keeps it.",
        )
    response = {
        "clientDataJSON": assertion.client_data,
        "authenticatorData": assertion.authenticator_data,
        "signature": assertion.signature,
        "userHandle": assertion.user_handle or None,
    }
    try:
        found = AuthenticationResponse.from_dict({"rawId": assertion.id, "response": response})
        _refuse_embedded(found.response.client_data)
        if not hmac.compare_digest(found.response.user_handle or b"", passkey.user.pk.bytes):
            raise ValueError("The user handle is another account's.")
        _server().authenticate_complete(state, [credential_of(passkey)], found)
    except UNREADABLE as error:
        raise _wrong() from error
    return passkey, found.response.authenticator_data


def credential_of(passkey: Passkey) -> AttestedCredentialData:
    return AttestedCredentialData(bytes(passkey.credential))


def encoded_id(credential: AttestedCredentialData) -> str:
    return websafe_encode(credential.credential_id)


def _server() -> Fido2Server:
    """Raises NotFoundError where browsers refuse passkeys."""
    party = relying_party()
    if party is None:
        raise NotFoundError(
            "This MLHub has no passkeys: browsers know them at https addresses and at localhost only.",
            code="no_passkeys",
            remedy="An administrator gives MLHub an https address with a host name: MLHUB_PUBLIC_URL.",
        )
    entity = PublicKeyCredentialRpEntity(name="MLHub", id=party.id)
    server = Fido2Server(entity, verify_origin=lambda origin: origin == party.origin)
    server.timeout = MAX_AGE_S * 1000  # type: ignore[assignment]  # fido2 infers None of its initial value
    return server


def _used_up(request: HttpRequest, ceremony: str, *, user_id: str = "") -> Mapping[str, Any]:
    """The state that fido2 compares with; its challenge counts no more. Raises InvalidInputError when there is none."""
    kept = read_secret_cookie(request, COOKIE, max_age_s=MAX_AGE_S)
    begun = None if kept is None else BegunCeremony(**kept)
    expected = (ceremony, _session_of(request), user_id)
    if (
        begun is None
        or (begun.ceremony, begun.session, begun.user_id) != expected
        or not _is_first_use(begun.challenge)
    ):
        raise InvalidInputError(
            "This was begun too long ago, in another browser or session, or was answered already.",
            code="challenge_void",
            field="passkey",
            remedy="Begin again.",
        )
    return {"challenge": begun.challenge, "user_verification": UserVerificationRequirement.REQUIRED}


def _is_first_use(challenge: str) -> bool:
    """Of two uses at once one is refused."""
    now = timezone.now()
    UsedChallenge.objects.filter(expires_at__lt=now).delete()
    _, is_first = UsedChallenge.objects.get_or_create(
        challenge_hash=hashlib.sha256(challenge.encode()).hexdigest(),
        defaults={"expires_at": now + timedelta(seconds=2 * MAX_AGE_S)},  # later than the cookie's end
    )
    return is_first


def _session_of(request: HttpRequest) -> str:
    key = request.session.session_key
    return hashlib.sha256(key.encode()).hexdigest() if key and request.user.is_authenticated else ""


def _refuse_embedded(client_data: CollectedClientData) -> None:
    """Pages of other sites that frame this one."""
    if client_data.cross_origin:
        raise ValueError("The page was framed by another site.")


def _wrong() -> InvalidInputError:
    return InvalidInputError(
        "This answer of the passkey does not belong to this site, account or request.",
        code="wrong_passkey",
        field="passkey",
        remedy="Begin again, at the usual address of this MLHub.",
    )
