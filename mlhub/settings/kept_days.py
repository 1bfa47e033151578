# SPDX-License-Identifier: Apache-2.0
"""Days that things are kept, as the environment sets them: MLHUB_KEEP_*_DAYS."""

from __future__ import annotations

import environ


def read_kept_days(env: environ.Env) -> dict[str, float]:
    """By kind of thing; 0 = for good. mlhub/retention/rules.py says of each what the days are counted from."""
    return {
        "logs": env.float("MLHUB_KEEP_LOGS_DAYS", default=90.0),
        "metrics": env.float("MLHUB_KEEP_METRICS_DAYS", default=0.0),
        "usage": env.float("MLHUB_KEEP_USAGE_DAYS", default=90.0),
        "profiles": env.float("MLHUB_KEEP_PROFILES_DAYS", default=30.0),
        "events": env.float("MLHUB_KEEP_EVENTS_DAYS", default=0.0),
        "results": env.float("MLHUB_KEEP_RESULTS_DAYS", default=0.0),
        "checkpoints": env.float("MLHUB_KEEP_CHECKPOINTS_DAYS", default=1.0),
        "failed_checkpoints": env.float("MLHUB_KEEP_FAILED_CHECKPOINTS_DAYS", default=14.0),
        "rounds": env.float("MLHUB_KEEP_ROUNDS_DAYS", default=30.0),
        "replays": env.float("MLHUB_KEEP_REPLAYS_DAYS", default=30.0),
        "validations": env.float("MLHUB_KEEP_VALIDATIONS_DAYS", default=30.0),
        "deliveries": env.float("MLHUB_KEEP_DELIVERIES_DAYS", default=30.0),
        "deleted_runs": env.float("MLHUB_KEEP_DELETED_RUNS_DAYS", default=30.0),
        "uploads": env.float("MLHUB_KEEP_UPLOADS_DAYS", default=3.0),
        "environments": env.float("MLHUB_KEEP_ENVIRONMENTS_DAYS", default=7.0),
    }
