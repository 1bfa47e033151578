# SPDX-License-Identifier: Apache-2.0
"""Answers of passkeys that are replayed, forged, of other sites, other people or other browsers open nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from fido2.utils import websafe_decode, websafe_encode
from rest_framework.test import APIClient

from mlhub.events.models import Event
from mlhub.tenants.models import Passkey
from mlhub.tenants.passkeys import ceremonies
from tests.tenants.passkeys.authenticator import ATTESTED, PRESENT, VERIFIED, SoftPasskey
from tests.tenants.passkeys.conftest import AUTH, OWN, Holder, challenge, enter, make_holder

ME = f"{AUTH}/me"
Signed = dict[str, str]
Attack = Callable[[Holder, APIClient], Signed]


def refused(answer, code: str) -> None:
    assert (answer.status_code, answer.json()["code"]) == (422, code), answer.json()


def flipped(text: str, position: int = -1) -> str:
    """One bit of base64url is another."""
    found = bytearray(websafe_decode(text))
    found[position] ^= 1
    return websafe_encode(bytes(found))


def with_member(signed: Signed, name: str, value: str) -> Signed:
    return {**signed, name: value}


def other_key(alice: Holder) -> SoftPasskey:
    return dataclasses.replace(alice.device.passkeys[-1], key=ec.generate_private_key(ec.SECP256R1()))


ATTACKS: dict[str, Attack] = {
    "another origin": lambda a, b: a.sign(b, origin="https://localhost.example.org"),
    "another port of this machine": lambda a, b: a.sign(b, origin="http://localhost:9000"),
    "a page below this one": lambda a, b: a.sign(b, origin="http://x.notebooks.localhost:8000"),
    "another relying party": lambda a, b: a.sign(b, rp_id="example.org"),
    "framed by another site": lambda a, b: a.sign(b, crossOrigin=True),
    "made for the other ceremony": lambda a, b: a.sign(b, type="webauthn.create"),
    "another challenge": lambda a, b: a.device.sign({**challenge(b), "challenge": websafe_encode(bytes(32))}),
    "nobody present": lambda a, b: a.sign(b, flags=VERIFIED),
    "nobody verified": lambda a, b: a.sign(b, flags=PRESENT),
    "signed by another key": lambda a, b: a.sign(b, passkey=other_key(a)),
    "a tampered signature": lambda a, b: with_member(s := a.sign(b), "signature", flipped(s["signature"])),
    "a tampered counter": lambda a, b: with_member(
        s := a.sign(b), "authenticator_data", flipped(s["authenticator_data"])
    ),
    "a tampered text": lambda a, b: with_member(s := a.sign(b), "client_data", s["client_data"] + "A"),
    "another's user handle": lambda a, b: with_member(a.sign(b), "user_handle", websafe_encode(bytes(16))),
    "no user handle": lambda a, b: with_member(a.sign(b), "user_handle", ""),
    "no signature": lambda a, b: with_member(a.sign(b), "signature", "!"),
    "no JSON": lambda a, b: with_member(a.sign(b), "client_data", websafe_encode(b"\xff\x00")),
    "a list for an object": lambda a, b: with_member(a.sign(b), "client_data", websafe_encode(b"[1]")),
    "deep JSON": lambda a, b: with_member(a.sign(b), "client_data", websafe_encode(b"[" * 6000)),
    "cut off": lambda a, b: with_member(a.sign(b), "authenticator_data", "AAAA"),
    "attested data that is cut off": lambda a, b: a.sign(b, flags=PRESENT | VERIFIED | ATTESTED),
}


@pytest.mark.slow
def test_forged_answers_open_nothing_and_are_in_the_audit(alice: Holder):
    alice.add()
    for name, attack in ATTACKS.items():
        browser = APIClient()
        answer = enter(browser, attack(alice, browser))
        assert (answer.status_code, answer.json().get("code")) == (422, "wrong_passkey"), name
        assert browser.get(ME).status_code == 401, name
    events = Event.objects.filter(kind="session.refused")
    assert {(event.facts["username"], event.facts["reason"]) for event in events} == {("alice", "wrong_passkey")}
    assert len(events) == len(ATTACKS)


def test_they_lock_nobody_out(alice: Holder, settings):
    settings.AXES_FAILURE_LIMIT = 2
    alice.add()
    stranger = APIClient()
    for _ in range(4):
        refused(enter(stranger, alice.sign(stranger, origin="https://evil.example")), "wrong_passkey")
    assert alice.sign_in_by_password(stranger, passkey=alice.sign(stranger)).status_code == 200
    for _ in range(3):  # and a locked name does not keep its passkey out
        APIClient().post(f"{AUTH}/login", {"username": "alice", "password": "wrong"})
    browser = APIClient()
    assert alice.sign_in_by_password(browser).status_code == 429
    assert enter(browser, alice.sign(browser)).status_code == 200


def test_an_answer_counts_once_and_for_a_short_time_only(alice: Holder, monkeypatch):
    alice.add()
    browser = APIClient()
    signed = alice.sign(browser)
    kept = browser.cookies[ceremonies.COOKIE].value
    assert enter(browser, signed).status_code == 200
    replayed = APIClient()
    replayed.cookies[ceremonies.COOKIE] = kept  # who copied both
    refused(enter(replayed, signed), "challenge_void")
    failed = alice.sign(browser := APIClient(), origin="https://evil.example")
    kept = browser.cookies[ceremonies.COOKIE].value
    refused(enter(browser, failed), "wrong_passkey")
    refused(enter(browser, failed), "challenge_void")  # used up, although it failed
    late = alice.sign(browser := APIClient())
    monkeypatch.setattr(ceremonies, "MAX_AGE_S", -1)
    refused(enter(browser, late), "challenge_void")


def test_a_counter_that_does_not_rise_is_that_of_a_copy(alice: Holder):
    alice.add()
    browser = APIClient()
    copy = dataclasses.replace(alice.device.passkeys[0])
    assert enter(browser, alice.sign(browser)).status_code == 200
    refused(enter(APIClient(), {**alice.sign()}), "challenge_void")
    second = APIClient()
    refused(enter(second, alice.sign(second, passkey=copy)), "passkey_copied")
    assert second.get(ME).status_code == 401
    silent = dataclasses.replace(copy, counter=None)
    refused(enter(second := APIClient(), alice.sign(second, passkey=silent)), "passkey_copied")
    assert Event.objects.filter(kind="session.refused", facts__reason="passkey_copied").count() == 2
    third = APIClient()
    assert enter(third, alice.sign(third)).status_code == 200


def test_a_passkey_that_counts_nothing_signs_in_again_and_again(alice: Holder):
    alice.add(counts=False)
    for _ in range(2):
        browser = APIClient()
        assert enter(browser, alice.sign(browser)).status_code == 200


def test_a_removed_passkey_opens_nothing(alice: Holder):
    alice.add()
    Passkey.objects.all().delete()
    browser = APIClient()
    refused(enter(browser, alice.sign(browser)), "unknown_passkey")
    assert Event.objects.get(kind="session.refused").facts["reason"] == "unknown_passkey"


def test_another_s_passkey_is_no_second_factor_and_no_proof(cast, alice: Holder):
    alice.add()
    charlie = make_holder(cast.charlie)
    charlie.add()
    browser = APIClient()
    refused(alice.sign_in_by_password(browser, passkey=charlie.sign(browser)), "unknown_passkey")
    refused(alice.begin(passkey=charlie.device.sign(challenge(alice.browser))), "unknown_passkey")
    # charlie's own id with alice's handle, and the other way round
    mixed = dataclasses.replace(charlie.device.passkeys[0], user_handle=alice.user.pk.bytes)
    refused(enter(browser, charlie.sign(browser, passkey=mixed)), "wrong_passkey")
    stolen_id = dataclasses.replace(charlie.device.passkeys[0], id=alice.device.passkeys[0].id)
    refused(enter(browser, charlie.sign(browser, passkey=stolen_id)), "wrong_passkey")


def test_what_one_session_began_no_other_one_ends(cast, alice: Holder):
    options = alice.begin().json()["options"]
    charlie = make_holder(cast.charlie)
    made = {"name": "mine", **alice.device.create(options)}
    refused(charlie.browser.post(OWN, made), "challenge_void")
    charlie.browser.cookies[ceremonies.COOKIE] = alice.browser.cookies[ceremonies.COOKIE].value
    refused(charlie.browser.post(OWN, made), "challenge_void")
    again = APIClient()
    alice.sign_in_by_password(again)  # the same person, another session
    again.cookies[ceremonies.COOKIE] = alice.browser.cookies[ceremonies.COOKIE].value
    refused(again.post(OWN, made), "challenge_void")
    signed = alice.device.sign({**options, "rpId": options["rp"]["id"]})
    refused(enter(alice.browser, signed), "challenge_void")  # made to create, used to sign in
    assert alice.browser.post(OWN, made).status_code == 201


def test_a_session_alone_begins_nothing_and_adds_nothing(alice: Holder):
    for proof, code in (({"password": "wrong"}, "wrong_password"), ({"code": "123456"}, "invalid_input")):
        refused(alice.begin(**proof), code)
    alice.browser.post(f"{AUTH}/passkey-challenge")
    made = alice.device.create({"rp": {"id": "localhost"}, "user": {"id": "AAAA"}, "challenge": "AAAA"})
    refused(alice.browser.post(OWN, {"name": "x", **made}), "challenge_void")
    assert not Passkey.objects.exists()


@pytest.mark.parametrize("what", ["origin", "flags", "algorithm", "garbage", "twice"])
def test_creations_that_do_not_fit_add_nothing(alice: Holder, what):
    options = alice.begin().json()["options"]
    making = {"origin": {"origin": "https://evil.example"}, "flags": {"flags": PRESENT}}.get(what, {})
    made = {"name": "x", **alice.device.create(options, **making)}
    if what == "algorithm":
        attestation = websafe_decode(made["attestation"])
        made["attestation"] = websafe_encode(attestation.replace(b"\x03\x26", b"\x03\x25"))  # -7 becomes -6
    if what == "garbage":
        made["attestation"] = websafe_encode(b"\x9f" * 300)
    if what == "twice":
        Passkey.objects.create(
            user=alice.user, name="x", credential=b"", credential_id=websafe_encode(alice.device.passkeys[0].id)
        )
        assert alice.browser.post(OWN, made).json()["code"] == "passkey_exists"
        return
    refused(alice.browser.post(OWN, made), "wrong_passkey")
    assert not Passkey.objects.exists()


def test_a_foreign_page_cannot_sign_a_browser_in(alice: Holder):
    alice.add()
    browser = APIClient(enforce_csrf_checks=True)
    assert browser.post(f"{AUTH}/passkey-challenge").status_code == 403
    assert enter(browser, alice.sign()).status_code == 403


def test_bodies_of_other_shapes_name_the_field(alice: Holder):
    alice.add()
    answer = enter(alice.browser, {**alice.sign(), "more": "x"})
    assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (422, ["passkey.more"])
    assert alice.sign_in_by_password(passkey="x").status_code == 422
