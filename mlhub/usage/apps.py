# SPDX-License-Identifier: Apache-2.0
"""Django's registration; an attempt that releases its GPUs is entered into the ledger in the same transaction."""

from django.apps import AppConfig


class UsageConfig(AppConfig):
    name = "mlhub.usage"

    def ready(self) -> None:
        from mlhub.jobs.execution.attempt_ends import attempt_closed
        from mlhub.usage.ledger import enter_closed_attempt

        attempt_closed.connect(enter_closed_attempt, dispatch_uid="usage")
