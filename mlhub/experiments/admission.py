# SPDX-License-Identifier: Apache-2.0
"""May this study begin? What no trial could run with is refused, naming the field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings as platform

from mlhub.core.errors import InvalidInputError, QuotaExceededError
from mlhub.core.locks import lock_until_commit
from mlhub.datasets.models import DatasetVersion
from mlhub.environments.secrets import check_secrets
from mlhub.environments.variables import check_name, check_variables
from mlhub.experiments.algorithms.space import IntegerRange, Options, SearchSpace, Value
from mlhub.experiments.algorithms.space_files import read_space
from mlhub.experiments.lengths import LENGTHS, length_of, rungs_within, script_metric
from mlhub.experiments.models import Study
from mlhub.jobs.limits.priorities import check_priority
from mlhub.jobs.submission.admission import check_request, check_versions
from mlhub.jobs.submission.images import check_image_of
from mlhub.jobs.submission.training_defaults import with_training_defaults
from mlhub.registry.models import Kind, ModelVersion
from mlhub.runtime.option_values import one_of
from mlhub.tenants.models import Organisation, Project, User

TRIAL_PRIORITY = -50  # trials wait for other jobs, and are preempted first
VARIABLE = "environment."  # how parameters begin that are variables of the job's environment
BATCH_SIZE = "batch_size"  # the one setting of a job, next to its hyperparameters, that a space may have


def check_study(
    project: Project,
    dataset: DatasetVersion | None,
    model: ModelVersion,
    settings: dict[str, Any],
    request: dict[str, Any],
    *,
    actor: User,
) -> dict[str, Any]:
    """Returns the fields of the Study. Raises InvalidInputError, QuotaExceededError, ConflictError."""
    check_versions(project, dataset, model)
    request = dict(request)
    space = read_space(request.pop("space"))
    settings = {"priority": TRIAL_PRIORITY, **settings}
    check_priority(project, settings["priority"], actor=actor)
    check_variables(settings.get("environment", {}), settings.get("secrets", []))
    check_secrets(project, settings.get("secrets", []))
    check_image_of(settings.get("image", ""), model)
    settings["epochs"] = with_training_defaults(dataset, model, settings)["epochs"]
    for point in _checked_points(space):
        _check_point(project, dataset, model, settings, point)
    is_script = model.kind == Kind.SCRIPT
    _check_options(model, space)
    length = length_of(request, epochs=settings["epochs"], is_script=is_script)
    rest = {name: value for name, value in request.items() if name not in LENGTHS}
    if is_script:  # as every other way of reporting names it
        rest["metric"] = script_metric(rest["metric"])
    return {
        **rest,
        "settings": settings,
        "space": written(space),
        "unit": length.unit,
        "rungs": rungs_within(length, rest),
    }


def check_live_studies(organisation: Organisation) -> None:
    """Called in the transaction that makes the study: those of one organisation are counted one after the other.

    Each live study is work for the platform every few seconds. Raises QuotaExceededError.
    """
    lock_until_commit(f"live-studies:{organisation.pk}")
    most = platform.MAX_LIVE_STUDIES_PER_ORGANISATION
    n = Study.objects.live().filter(project__organisation=organisation).count()
    if n >= most:
        raise QuotaExceededError(
            f"{organisation.name} has {n:,} studies that run or are paused, and may have {most:,}.",
            remedy="Stop some, or ask a platform administrator to raise MLHUB_MAX_LIVE_STUDIES_PER_ORGANISATION.",
            limit="max_live_studies_per_organisation",
            live_studies=n,
            max_live_studies=most,
        )


def with_parameters(settings: dict[str, Any], parameters: dict[str, Any]) -> dict[str, Any]:
    """The settings of a trial's job. A parameter called environment.NAME is that variable of the job."""
    variables = {name.removeprefix(VARIABLE): str(x) for name, x in parameters.items() if name.startswith(VARIABLE)}
    own = {name: x for name, x in parameters.items() if name != BATCH_SIZE and not name.startswith(VARIABLE)}
    found = {**settings, "hyperparameters": {**settings.get("hyperparameters", {}), **own}}
    if variables:
        found["environment"] = {**settings.get("environment", {}), **variables}
    return {**found, BATCH_SIZE: parameters[BATCH_SIZE]} if BATCH_SIZE in parameters else found


def space_end(space: SearchSpace, *, is_last: bool) -> dict[str, Value]:
    """The point at which every range is at one end, and of choices the first or the last is taken."""
    found: dict[str, Value] = {}
    for name, values in space.parameters.items():
        if isinstance(values, Options):
            found[name] = values.values[-1 if is_last else 0]
        else:
            found[name] = values.high if is_last else values.low
    return found


def _checked_points(space: SearchSpace) -> Iterator[dict[str, Value]]:
    """Both ends of every range, and among the points each choice of every parameter."""
    first, last = space_end(space, is_last=False), space_end(space, is_last=True)
    choices = {name: values.values for name, values in space.parameters.items() if isinstance(values, Options)}
    yield first
    for i in range(1, max((len(values) for values in choices.values()), default=1) - 1):
        yield first | {name: values[min(i, len(values) - 1)] for name, values in choices.items()}
    yield last


def written(space: SearchSpace) -> dict[str, Any]:
    """As read_space reads it, with numbers as numbers."""
    found: dict[str, Any] = {}
    for name, values in space.parameters.items():
        if isinstance(values, Options):
            found[name] = {"choice": list(values.values)}
        elif isinstance(values, IntegerRange):
            found[name] = {"int": [values.low, values.high], "log": values.is_log, "points": values.points}
        else:
            kind = "log_uniform" if values.is_log else "uniform"
            found[name] = {kind: [values.low, values.high], "points": values.points}
    return found


def _check_point(
    project: Project,
    dataset: DatasetVersion | None,
    model: ModelVersion,
    settings: dict[str, Any],
    point: dict[str, Value],
) -> None:
    """Whether a job of this point would be taken; what is wrong with a value is said of the space."""
    if not _is_whole(point.get(BATCH_SIZE, 1)):
        raise InvalidInputError(
            f"{BATCH_SIZE} may be {point[BATCH_SIZE]!r}.",
            field=f"space.{BATCH_SIZE}",
            remedy="Give whole numbers from 1 on, such as {choice: [16, 32]}.",
        )
    for name in point:
        if name.startswith(VARIABLE):
            check_name(name.removeprefix(VARIABLE), field=f"space.{name}")
    wanted = with_parameters(settings, dict(point))
    wanted = {name: value for name, value in wanted.items() if name not in ("name", "environment", "secrets", "image")}
    try:
        check_request(project, dataset, model, with_training_defaults(dataset, model, wanted))
    except InvalidInputError as error:
        name = (error.field or "").removeprefix("hyperparameters.")
        error.field = f"space.{name}" if name in point else f"job.{error.field}"
        raise


def _check_options(model: ModelVersion, space: SearchSpace) -> None:
    """Raises InvalidInputError for a parameter that the script never sees: its trials would differ in nothing."""
    code = model.code_version or model
    options = code.contract.get("only_options")
    if options is None:
        return
    for name in space.parameters:
        if name not in options and not name.startswith(VARIABLE):
            raise InvalidInputError(
                f"{code.entry} has no option {name}, so that its values would change nothing.",
                field=f"space.{name}",
                remedy=f"{one_of(tuple(options), name)}; or {VARIABLE}{name} for a variable of the environment.",
            )


def _is_whole(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
