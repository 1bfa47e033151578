# SPDX-License-Identifier: Apache-2.0
"""manage.py ensure_builtins: registers the models that MLHub ships; run at each start, it adds only what is missing."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from mlhub.registry.builtin_models import ensure_builtins


class Command(BaseCommand):
    help = "Register the built-in models that are not registered yet."

    def handle(self, *_: Any, **__: Any) -> None:
        self.stdout.write(f"built-in models added: {ensure_builtins()}")
