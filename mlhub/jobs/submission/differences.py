# SPDX-License-Identifier: Apache-2.0
"""What differs between two jobs: the settings that they were submitted with, and the code that they ran."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mlhub.jobs.execution.inputs import code_of
from mlhub.jobs.models import Job
from mlhub.registry.code_differences import CodeDifference, code_difference
from mlhub.registry.models import ModelVersion
from mlhub.tenants.models import User

PLAIN = (
    "kind", "epochs", "batch_size", "seed", "mode", "min_workers", "max_workers", "priority", "target_metric",
    "target_value", "secrets", "image",
)  # fmt: skip
NESTED = ("hyperparameters", "strategy", "resources", "limits", "environment", "prediction")
ABSENT = object()


@dataclass(frozen=True)
class SettingDifference:
    """before, after: JSON values of the two jobs, None where a job does not have the setting."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True)
class JobDifference:
    settings: tuple[SettingDifference, ...]
    code: CodeDifference


def difference_of(before: Job, after: Job, *, user: User) -> JobDifference:
    """The settings that differ, in the order of a request; and the code, file by file, where the user may see it."""
    old, new = code_of(before.model_version), code_of(after.model_version)
    readable = set(ModelVersion.objects.visible_to(user).filter(pk__in=[old.pk, new.pk]).values_list("pk", flat=True))
    if {old.pk, new.pk} - readable:
        code = CodeDifference(note="The code of one of the jobs belongs to a project that you may not see.")
    else:
        code = code_difference(old, new)
    return JobDifference(setting_differences(before, after), code)


def setting_differences(before: Job, after: Job) -> tuple[SettingDifference, ...]:
    """Settings that both jobs have with the same value are left out."""
    olds, news = dict(_settings(before)), dict(_settings(after))
    return tuple(
        SettingDifference(name, olds.get(name), news.get(name))
        for name in {**olds, **news}
        if olds.get(name, ABSENT) != news.get(name, ABSENT)
    )


def _settings(job: Job) -> Iterator[tuple[str, Any]]:
    """Each setting by its name in a request; those of an object after a dot, "hyperparameters.learning_rate"."""
    data, model = job.dataset_version, job.model_version
    if data is not None:
        yield "dataset", f"{data.dataset.name} v{data.number}"
    for name, one in job.datasets.items():
        yield f"datasets.{name}", f"{one['dataset']['name']} v{one['number']}"
    yield "model", f"{model.model.name} v{model.number}"
    for name in PLAIN:
        yield name, getattr(job, name)
    for name in NESTED:
        yield from _flat(name, getattr(job, name))


def _flat(prefix: str, values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(f"{prefix}.{name}", value)
        else:
            yield f"{prefix}.{name}", value
