# SPDX-License-Identifier: Apache-2.0
"""What each machine's sandbox keeps uploaded code from: written by Celery workers, read by administrators."""

from __future__ import annotations

import dataclasses
import socket
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from mlhub.clusters.models import SandboxReport
from mlhub.runtime.sandbox.capabilities import CONSEQUENCES

if TYPE_CHECKING:
    from mlhub.runtime.sandbox.capabilities import Capabilities

KEPT_FOR = timedelta(days=30)  # workers of machines that are gone


def record_sandbox(found: Capabilities | OSError, *, now: datetime, host: str | None = None) -> SandboxReport:
    """Stores what was found on this machine. An OSError: no sandbox works at all, and why."""
    is_error = isinstance(found, OSError)
    protections = [] if isinstance(found, OSError) else [dataclasses.asdict(each) for each in found.protections]
    changes = {"reported_at": now, "protections": protections, "error": str(found) if is_error else ""}
    report, _ = SandboxReport.objects.update_or_create(host=(host or socket.gethostname())[:255], defaults=changes)
    SandboxReport.objects.filter(reported_at__lt=now - KEPT_FOR).delete()
    return report


def sandbox_reports() -> list[dict[str, Any]]:
    """Returns each machine's report, the newest first, with the consequence of each protection that is missing."""
    return [_shown(report) for report in SandboxReport.objects.order_by("-reported_at", "host")[:50]]


def _shown(report: SandboxReport) -> dict[str, Any]:
    protections = [
        {**each, "consequence": "" if each["is_present"] else CONSEQUENCES.get(each["name"], "")}
        for each in report.protections
    ]
    separates = not report.error and all(each["is_present"] or not each["is_separating"] for each in protections)
    return {
        "host": report.host,
        "reported_at": report.reported_at,
        "error": report.error,
        "separates_tenants": separates,
        "protections": protections,
    }
