# SPDX-License-Identifier: Apache-2.0
"""manage.py reencrypt: after a rotation of the secret key, before the earlier one is forgotten; --check only looks."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from mlhub.recovery.reencryption import reencrypt

MOST_NAMED = 20


class Command(BaseCommand):
    help = "Encrypt stored secrets with the present MLHUB_SECRET_KEY, so that earlier ones can be forgotten."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="only say what the keys decrypt; change nothing")

    def handle(self, *_: Any, check: bool, **__: Any) -> None:
        done = reencrypt(is_trial=check)
        counted = ", ".join(f"{plural} {n:,}" for plural, n in done.counts.items())
        self.stdout.write(f"{'Decrypted' if check else 'Encrypted with the present key'}: {counted}.")
        if done.lost:
            for one in done.lost[:MOST_NAMED]:
                self.stderr.write(f"No key decrypts {one}.")
            raise CommandError(
                f"{len(done.lost):,} stored values are of a key that is not there. Name it in "
                "MLHUB_SECRET_KEY_FALLBACKS, and repeat this; else do for each what stands behind it."
            )
