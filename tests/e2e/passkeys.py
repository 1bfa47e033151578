# SPDX-License-Identifier: Apache-2.0
"""A person adds a passkey, signs in with it and removes it, with Chromium's virtual authenticator."""

from __future__ import annotations

from typing import Any

from tests.platform import PASSWORD, RunningPlatform

AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def walk_passkeys(page: Any, platform: RunningPlatform) -> None:
    """In a context of its own: an address has no passkeys, so the page is opened at localhost."""
    from playwright.sync_api import expect

    platform.person("paul", organisation="P")
    at_localhost = platform.url.replace("127.0.0.1", "localhost")
    context = page.context.browser.new_context(base_url=at_localhost, viewport={"width": 1280, "height": 900})
    own = context.new_page()
    own.set_default_timeout(60_000)
    own.on("console", page.complaints_listener)
    devtools = context.new_cdp_session(own)
    devtools.send("WebAuthn.enable")
    devtools.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})

    def give_password(at: str) -> None:
        own.goto(f"{at}/sign-in")
        own.get_by_label("User name").fill("paul")
        own.get_by_role("textbox", name="Password").fill(PASSWORD)
        own.get_by_role("button", name="Sign in", exact=True).click()

    def sign_out() -> None:
        context.clear_cookies()

    give_password(platform.url)
    expect(own.get_by_role("heading", name="Home", exact=True)).to_be_visible()
    own.goto(f"{platform.url}/account")
    expect(own.get_by_role("link", name=f"{at_localhost}/account")).to_be_visible()  # it says where

    give_password(at_localhost)
    expect(own.get_by_role("heading", name="Home", exact=True)).to_be_visible()
    own.goto("/account")
    own.get_by_role("button", name="Add a passkey").click()
    dialog = own.get_by_role("dialog")
    dialog.get_by_label("Your password").fill(PASSWORD)
    dialog.get_by_role("button", name="Continue").click()
    dialog.get_by_role("textbox", name="Name").fill("virtual key")
    dialog.get_by_role("button", name="Create the passkey").click()
    expect(own.get_by_text("Keep these recovery codes")).to_be_visible()
    expect(own.get_by_role("table", name="Passkeys").get_by_text("virtual key")).to_be_visible()

    sign_out()
    give_password(at_localhost)  # is not enough any more
    own.get_by_role("button", name="Use a passkey as the second factor").click()
    expect(own.get_by_role("heading", name="Home", exact=True)).to_be_visible()

    sign_out()
    own.goto("/sign-in?next=/account")
    own.get_by_role("button", name="Sign in with a passkey").click()
    expect(own.get_by_role("table", name="Sessions").get_by_text("Passkey")).to_be_visible()

    own.get_by_role("button", name="Remove virtual key").click()
    own.get_by_role("dialog").get_by_role("button", name="Use a passkey instead").click()
    expect(own.get_by_role("table", name="Passkeys")).to_have_count(0)
    context.close()
