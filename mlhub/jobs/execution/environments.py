# SPDX-License-Identifier: Apache-2.0
"""The environment that a job's code requires, on the packages that pods have now."""

from __future__ import annotations

from django.db.models import Q

from mlhub.environments.actions import is_current, request_environment
from mlhub.environments.base import key_of
from mlhub.environments.models import EnvironmentState, PythonEnvironment
from mlhub.jobs.execution.inputs import code_of
from mlhub.jobs.models import Job, Preflight
from mlhub.jobs.states import ENDED
from mlhub.registry.actions import change_environment


def current_environment(job: Job) -> PythonEnvironment | None:
    """The environment of the job's code; None when it requires none.

    One that was built on other packages than the platform has now is built anew. The code keeps the old one until then,
    so that jobs which run already are started again with it. A build that failed since the submission fails the job.
    """
    code = code_of(job.model_version)
    had = code.environment
    if had is None or is_current(had):
        return had
    organisation = had.organisation
    known = PythonEnvironment.objects.filter(organisation=organisation, key=key_of(had.requirements)).first()
    if known is not None and known.state == EnvironmentState.FAILED and known.finished_at > job.submitted_at:
        failed: PythonEnvironment = known
        return failed
    renewed = request_environment(organisation, requirements=had.requirements, origin=had.origin, actor=job.created_by)
    if renewed.state == EnvironmentState.READY:
        change_environment(code, renewed)
    return renewed


def waiting_for(environment_id: str) -> list[Job]:
    """Jobs before their dry run whose code requires what this environment has, oldest first."""
    environment = PythonEnvironment.objects.filter(pk=environment_id).first()
    if environment is None:
        return []
    same = {"organisation": environment.organisation_id, "requirements": environment.requirements}
    own = Q(**{f"model_version__environment__{name}": value for name, value in same.items()})
    of_code = Q(**{f"model_version__code_version__environment__{name}": value for name, value in same.items()})
    waiting = Job.objects.filter(own | of_code, preflight=Preflight.PENDING).exclude(state__in=ENDED)
    return list(waiting.select_related("project__organisation", "created_by").order_by("id")[:1000])
