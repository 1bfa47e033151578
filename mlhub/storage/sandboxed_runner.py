# SPDX-License-Identifier: Apache-2.0
"""Where strangers' code is run: in the sandbox of this machine, or in a Job of the Kubernetes cluster.

MLHUB_SANDBOX chooses; without it the backend does: Jobs where jobs are trained on Kubernetes, this machine elsewhere.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from django.conf import settings

from mlhub.runtime.inspection import INSPECT
from mlhub.runtime.sandbox.capabilities import capabilities
from mlhub.runtime.sandbox.execution import execute
from mlhub.runtime.sandbox.verdicts import Ended, SandboxLimits
from mlhub.storage import sandbox_runs
from mlhub.storage.spare_sandboxes import prepare_spare, spare_for
from mlhub.storage.stores import blob_store
from mlhub.tenants.models import Organisation, Project
from mlhub.wire.sandbox import BlobArgument, SandboxTask, TextArgument


class SandboxedRunner(Protocol):
    def weakness(self) -> str:
        """Why this runner may not run the code of several organisations; "" when it may."""

    def run(self, task: SandboxTask, *, project: Project) -> Ended:
        """Makes the run and returns how it ended. Raises OSError when that is not possible now."""


class LocalSandbox:
    """On this machine, which must be able to isolate organisations from each other once there are several."""

    def weakness(self) -> str:
        if settings.ALLOW_WEAK_SANDBOX:
            return ""
        report = capabilities()
        if report.separates_tenants or Organisation.objects.count() < 2:
            return ""
        return " ".join(report.missing_to_separate)

    def run(self, task: SandboxTask, *, project: Project) -> Ended:  # noqa: ARG002 (the protocol's)
        with ExitStack() as stack:
            paths = [_path(argument, stack) for argument in task.arguments]
            try:
                return execute(
                    [*INSPECT, *map(str, paths)],
                    folder=settings.SANDBOX_ROOT,
                    limits=SandboxLimits(task.timeout_s, task.memory_bytes, task.scratch_bytes),
                    readable=[path for path in paths if isinstance(path, Path)],
                    spare=spare_for(task),
                )
            finally:
                prepare_spare()


class ClusterSandbox:
    """In a Job of the project's own namespace, whose pod has no secret of the platform."""

    def weakness(self) -> str:
        return ""

    def run(self, task: SandboxTask, *, project: Project) -> Ended:
        with sandbox_runs.requested(project, task) as run:
            return sandbox_runs.wait_for(run)


def sandboxed_runner() -> SandboxedRunner:
    return ClusterSandbox() if settings.SANDBOX == "jobs" else LocalSandbox()


def _path(argument: str | BlobArgument | TextArgument, stack: ExitStack) -> str | Path:
    if isinstance(argument, BlobArgument):
        return stack.enter_context(blob_store().local_file(argument.sha256))
    if isinstance(argument, TextArgument):
        path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "argument.json"
        path.write_text(argument.text)
        return path
    return argument
