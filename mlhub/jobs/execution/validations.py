# SPDX-License-Identifier: Apache-2.0
"""Dry runs that passed, kept by what they tried: a job that asks for the same again is not tried out a second time.

The key covers all that a dry run reads: the content of code, weights and data, how the data is read, the training's
settings, and the runtime with its packages (so that an update makes every job be tried out again). Left out is what
no dry run reads: resources and numbers of workers, the seed, the number of epochs, the value of a target, and, for
models of MLHub's own, the settings of the learning rate. Code of users may read any hyperparameter, so all of them
count there.

A validation counts within its organisation alone: profiles and failures of strangers' code say something about it.
Only successes are kept, since a failure may be the machine's.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any

from django.db.models import Q

from mlhub.jobs.execution import inputs
from mlhub.jobs.models import Job, JobKind, ModeChoice, PassedValidation, Preflight
from mlhub.jobs.states import ENDED
from mlhub.registry.models import Kind
from mlhub.runtime.fingerprint import runtime_fingerprint
from mlhub.wire.launch import AttemptId, Input, PodRole, PodSpec, SyncMode

OF_LEARNING_RATE = (
    "learning_rate", "lr_schedule", "warmup_steps", "warmup_from", "final_learning_rate", "patience",
)  # fmt: skip


def dry_run_spec(job: Job, there: tuple[Input, ...]) -> PodSpec:
    """What the dry run is given. there: the job's inputs, as files of this machine or only as names."""
    return PodSpec(
        attempt_id=AttemptId(f"preflight-{job.id}"),
        job_id=str(job.id),
        attempt_number=0,
        mode=SyncMode.PARAMETER_SERVER if job.mode == ModeChoice.PARAMETER_SERVER else SyncMode.ALL_REDUCE,
        role=PodRole.WORKER,
        index=0,
        n_workers=1,
        n_servers=0,
        master_address="",
        server_addresses=(),
        inputs=there,
        dataset=inputs.dataset_spec(job),
        model=inputs.model_spec(job.model_version),
        training=inputs.training_spec(job),
        prediction=inputs.prediction_spec(job),
        variables=job.environment,
        secret_names=tuple(job.secrets),
        checkpoint_uri="",
        start_timeout_s=0,
    )


def key_of(job: Job) -> str:
    """The SHA-256, in hex, of all that the job's dry run depends on."""
    there = inputs.inputs_of(job)
    spec = asdict(dry_run_spec(job, there))
    for name in ("attempt_id", "job_id", "inputs"):
        del spec[name]
    for name in ("seed", "epochs"):
        del spec["training"][name]
    spec["training"]["target_value"] = spec["training"]["target_value"] is not None  # whether there is one does count
    if inputs.code_of(job.model_version).kind == Kind.BUILTIN:
        given = spec["training"]["hyperparameters"]
        spec["training"]["hyperparameters"] = {k: v for k, v in given.items() if k not in OF_LEARNING_RATE}
    content = [runtime_fingerprint(), [(item.name, item.sha256) for item in there], spec]
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def find(job: Job) -> PassedValidation | None:
    """A validation of the same content and settings in the job's organisation; None without one."""
    if not job.validation_key:
        return None
    known = PassedValidation.objects.filter(organisation=job.project.organisation_id, key=job.validation_key)
    found: PassedValidation | None = known.first()
    return found


def profile_for(job: Job, validation: PassedValidation) -> dict[str, Any]:
    """The profile as the job's own dry run would have measured it: the steps follow from its epochs."""
    profile = dict(validation.profile)
    if job.kind == JobKind.TRAIN and "steps_per_epoch" in profile:
        profile["steps_total"] = profile["steps_per_epoch"] * job.epochs
    return profile


def keep(job: Job, profile: dict[str, Any]) -> PassedValidation:
    """Stores that the job's dry run passed; an older one of the same key is replaced."""
    kept, _ = PassedValidation.objects.update_or_create(
        organisation_id=job.project.organisation_id,
        key=job.validation_key,
        defaults={"job": job, "profile": profile},
    )
    return kept


def waiting_for(validation: PassedValidation, *, limit: int) -> list[Job]:
    """Jobs of the organisation that wait for a dry run which this one makes superfluous, oldest first."""
    same = Q(project__organisation=validation.organisation_id, validation_key=validation.key)
    waiting = Job.objects.filter(same, preflight=Preflight.PENDING).exclude(state__in=ENDED)
    return list(waiting.select_related("project__organisation").order_by("id")[:limit])
