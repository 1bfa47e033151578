# SPDX-License-Identifier: Apache-2.0
"""Django's registration of this app; loads Celery here, since pods import mlhub/__init__ and must not."""

import atexit
import gc

from django.apps import AppConfig


class CoreConfig(AppConfig):
    name = "mlhub.core"

    def ready(self) -> None:
        from mlhub import celery  # noqa: F401

        # else the interpreter looks through all that was imported once more as it ends: half a second of a processor
        atexit.register(gc.freeze)
