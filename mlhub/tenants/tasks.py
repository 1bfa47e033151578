# SPDX-License-Identifier: Apache-2.0
"""Celery's part of tenants: links to set a password are written to their owners."""

from __future__ import annotations

from celery import shared_task

from mlhub.tenants.actions.sign_in import forgotten_passwords


@shared_task
def send_password_links(account: str) -> int:
    """Returns to how many accounts a link was sent."""
    return forgotten_passwords.send_links(account)
