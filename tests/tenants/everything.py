# SPDX-License-Identifier: Apache-2.0
"""One of each kind of thing of an organisation, by the word before its id in an address."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from django.utils import timezone

from mlhub.environments.models import ProjectSecret, PythonEnvironment
from mlhub.events.actions import append
from mlhub.experiments.models import Study
from mlhub.jobs.models import Attempt, Job
from mlhub.registry.models import Model, ModelVersion
from mlhub.tenants.actions import bind_role, boost_quota, create_token, invite, request_quota, set_quota
from mlhub.tenants.actions.administration.service_accounts import create_service_account
from mlhub.tenants.actions.limits.user_quotas import limit_user
from mlhub.tenants.models import Organisation, Project, Team
from mlhub.tenants.roles import Role
from mlhub.tracking.models import Run
from mlhub.webhooks.models import Webhook
from tests.cast import Cast
from tests.jobs.builders import builtin, job, ready_dataset

OTHERS = {"aliases": "best", "artifacts": "name", "blobs": "0" * 64, "versions": 1, "rounds": 1, "checkpoints": 1,
          "nodes": "n", "agents": "a", "files": "MLmodel", "traces": 0, "server-traces": 0, "clips": 0}  # fmt: skip


def everything_of_a(cast: Cast, word: str) -> dict[str, Any]:
    """word: in the name of each of them, and of A and its project."""
    Organisation.objects.filter(pk=cast.a.pk).update(name=f"{word} organisation")
    Project.objects.filter(pk=cast.project_a.pk).update(name=f"{word} project")
    cast.a.refresh_from_db()
    cast.project_a.refresh_from_db()
    found: Job = job(cast.project_a, cast.alice, name=f"{word} job", tags=[word])
    attempt = Attempt.objects.create(job=found, number=1, mode="all_reduce", n_workers=1, n_servers=0, token_hash="x")
    dataset = ready_dataset(cast.project_a, cast.alice, name=f"{word} data")
    model = Model.objects.create(project=cast.project_a, name=f"{word} model", created_by=cast.alice)
    code = ModelVersion.objects.create(
        model=model, number=1, state="ready", source="upload", kind="module", created_by=cast.alice
    )
    team = Team.objects.create(organisation=cast.a, name=f"{word} team")
    hook = Webhook.objects.create(organisation=cast.a, url=f"https://{word}.example", encrypted_secret=b"")
    environment = PythonEnvironment.objects.create(organisation=cast.a, key="k", requirements=[word])
    ProjectSecret.objects.create(project=cast.project_a, name=word.upper(), encrypted=b"")
    study = Study.objects.create(
        project=cast.project_a,
        name=f"{word} study",
        created_by=cast.alice,
        dataset_version=dataset,
        model_version=builtin(),
        space={},
        metric="loss",
        direction="minimize",
        algorithm="random",
        rungs=[1],
        max_parallel=1,
        max_trials=1,
    )
    run = Run.objects.create(project=cast.project_a, name=f"{word} run", created_by=cast.alice, started_ms=1)
    append("job.submitted", organisation=cast.a, subject_kind="job", subject_id=found.pk, actor=cast.alice, name=word)
    asked = request_quota(cast.project_a, extra_guarantee=1, reason=word, actor=cast.bob)
    ends_at = timezone.now() + timedelta(days=1)
    set_quota(cast.project_a, max_gpus=4, actor=cast.alice)
    boost = boost_quota(cast.project_a, extra_max_gpus=1, ends_at=ends_at, reason=word, actor=cast.alice)
    return {
        "jobs": found.id,
        "attempts": attempt.id,
        "organisations": cast.a.id,
        "teams": team.id,
        "projects": cast.project_a.id,
        "datasets": dataset.dataset_id,
        "dataset-versions": dataset.id,
        "models": model.id,
        "model-versions": code.id,
        "memberships": cast.a.memberships.get(user=cast.bob).id,
        "role-bindings": bind_role(
            cast.project_a, username=cast.victor.username, role=Role.MEMBER, actor=cast.alice
        ).id,
        "tokens": create_token(cast.alice, name=word, scopes=["read"], expires_in_days=1)[0].id,
        "invitations": invite(cast.a, username=word, role=Role.MEMBER, actor=cast.alice).id,
        "environments": environment.id,
        "secrets": word.upper(),
        "studies": study.id,
        "users": cast.bob.id,
        "runs": run.id,
        "uploads": found.id,
        "webhooks": hook.id,
        "service-accounts": create_service_account(cast.a, name=word, role=Role.MEMBER, actor=cast.alice).id,
        "quota-requests": asked.id,
        "quota-boosts": boost.id,
        "user-quotas": limit_user(cast.project_a, cast.bob, max_gpus=1, actor=cast.alice).id,
    }


def address(path: str, ids: dict[str, Any]) -> str:
    """The path of an operation, with these ids in it."""
    return re.sub(r"([\w-]+)/\{\w+\}", lambda m: f"{m[1]}/{ids.get(m[1], OTHERS.get(m[1], ids['jobs']))}", path)
