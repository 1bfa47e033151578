# SPDX-License-Identifier: Apache-2.0
"""E-mail to the owner of an account when its second factor changes: who did not do it learns of it at once.

It cannot be switched off, and goes where a mail server is configured and the account has an address.
"""

from __future__ import annotations

from django.conf import settings

from mlhub.tenants.mail import send_mail_on_commit
from mlhub.tenants.models import User

# kinds of the audit, and what happened
SENTENCES = {
    "user.second_factor_added": "An authenticator app was set up for your account.",
    "user.second_factor_removed": "The authenticator app of your account was removed.",
    "user.passkey_added": "A passkey was added to your account: {name}.",
    "user.passkey_removed": "A passkey of your account was removed: {name}.",
    "user.recovery_code_used": "A recovery code of your account was used: {n_left} left.",
    "user.recovery_codes_renewed": "New recovery codes were made for your account: earlier ones are void.",
}


def notify_owner(kind: str, user: User, *, actor: User, **facts: object) -> None:
    """In a transaction: the mail goes once that has committed."""
    if kind not in SENTENCES or not user.email:
        return
    sentence = SENTENCES[kind].format(**facts)
    who = "It was done in a session of yours" if actor == user else f"It was done by the administrator {actor.username}"
    text = (
        f"{sentence}\n\nAccount: {user.username}\n{who}.\n\nIf you did not expect this, change your password and end "
        f"your sessions at {settings.PUBLIC_URL}/account, and write to an administrator of the platform."
    )
    send_mail_on_commit(user.email, subject=f"MLHub: {sentence.partition(':')[0].rstrip('.')}", text=text)
