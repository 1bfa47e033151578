# SPDX-License-Identifier: Apache-2.0
"""What Celery's beat sends, and every how many seconds."""

from __future__ import annotations

from typing import Any

CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "sweep-datasets": {"task": "mlhub.datasets.tasks.sweep_uninspected", "schedule": 30.0},
    "sweep-models": {"task": "mlhub.registry.tasks.sweep_unvalidated", "schedule": 30.0},
    "sweep-environments": {"task": "mlhub.environments.tasks.sweep_unbuilt", "schedule": 30.0},
    "sweep-jobs": {"task": "mlhub.jobs.tasks.sweep_not_handed_off", "schedule": 15.0},
    "sweep-work-queue": {"task": "mlhub.storage.tasks.sweep_work_queue", "schedule": 15.0},
    "advance-studies": {"task": "mlhub.experiments.tasks.advance_studies", "schedule": 5.0},
    "collect-checkpoints": {"task": "mlhub.jobs.tasks.collect_checkpoints", "schedule": 600.0},
    "sweep-replays": {"task": "mlhub.control.tasks.sweep_replays", "schedule": 10.0},
    "forget-replayed-jobs": {"task": "mlhub.control.tasks.forget_replayed_jobs", "schedule": 3600.0},
    "watch-rounds": {"task": "mlhub.control.tasks.watch_rounds", "schedule": 15.0},
    "watch-boosts": {"task": "mlhub.control.tasks.watch_boosts", "schedule": 15.0},
    "watch-budgets": {"task": "mlhub.control.tasks.watch_budgets", "schedule": 60.0},
    "check-usage": {"task": "mlhub.usage.tasks.check_ledger", "schedule": 60.0},
    "report-use": {"task": "mlhub.usage.tasks.report_use", "schedule": 3600.0},
    "deliver-webhooks": {"task": "mlhub.webhooks.tasks.deliver", "schedule": 5.0},
    "send-mail-notices": {"task": "mlhub.webhooks.tasks.send_mail_notices", "schedule": 10.0},
    "watch-waiting-jobs": {"task": "mlhub.webhooks.tasks.watch_waiting_jobs", "schedule": 60.0},
    "remove-expired": {"task": "mlhub.retention.tasks.remove_expired", "schedule": 600.0},
    "erase-organisations": {"task": "mlhub.retention.tasks.erase_organisations", "schedule": 30.0},
    "remove-detached": {"task": "mlhub.retention.tasks.remove_detached", "schedule": 60.0},
    "collect-blobs": {"task": "mlhub.storage.tasks.collect_unheld_blobs", "schedule": 3600.0},
}
