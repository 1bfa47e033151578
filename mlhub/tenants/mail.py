# SPDX-License-Identifier: Apache-2.0
"""Messages to people by e-mail, where a mail server is configured (MLHUB_EMAIL_URL)."""

from __future__ import annotations

from dataclasses import dataclass
from smtplib import SMTPException

import structlog
from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction

logger = structlog.stdlib.get_logger(__name__)


@dataclass
class Mail:
    """is_sent: once the transaction has committed, whether the server took it."""

    is_sent: bool = False


def send_mail_on_commit(address: str, *, subject: str, text: str) -> Mail:
    """Sends within the request, so that a secret in the text is neither queued nor stored; nothing without a server.

    A server that refuses or is away is logged: what was written stays, and the sender has the link to hand over.
    """
    mail = Mail()
    if settings.HAS_MAIL_SERVER:
        transaction.on_commit(lambda: _send(mail, address, subject, text), robust=True)
    return mail


def _send(mail: Mail, address: str, subject: str, text: str) -> None:
    try:
        mail.is_sent = send_mail(" ".join(subject.split()), text, None, [address]) > 0
    except (SMTPException, OSError) as error:
        logger.warning("mail.not_sent", error=type(error).__name__)
