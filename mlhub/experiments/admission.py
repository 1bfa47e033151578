# SPDX-License-Identifier: Apache-2.0
"""May this study begin? What no trial could run with is refused, naming the field."""

from __future__ import annotations

from typing import Any

from django.conf import settings as platform

from mlhub.core.errors import InvalidInputError, QuotaExceededError
from mlhub.core.locks import lock_until_commit
from mlhub.datasets.models import DatasetVersion
from mlhub.environments.secrets import check_secrets
from mlhub.environments.variables import check_variables
from mlhub.experiments.algorithms.asha import rungs_of
from mlhub.experiments.algorithms.search import Algorithm
from mlhub.experiments.algorithms.space import IntegerRange, Options, SearchSpace, Value
from mlhub.experiments.algorithms.space_files import read_space
from mlhub.experiments.models import Study
from mlhub.jobs.admission import check_request, check_versions
from mlhub.jobs.priorities import check_priority
from mlhub.jobs.training_defaults import with_training_defaults
from mlhub.registry.models import ModelVersion
from mlhub.tenants.models import Organisation, Project, User

TRIAL_PRIORITY = -50  # trials wait for other jobs, and are preempted first
BATCH_SIZE = "batch_size"  # the one setting of a job, next to its hyperparameters, that a space may have
LEAST_FIRST_RUNG = 16  # of ASHA: the first rung has 1 / 16 of the epochs or more where min_epochs is left out


def check_study(
    project: Project,
    dataset: DatasetVersion,
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
    min_epochs = request.pop("min_epochs", None)
    settings = {"priority": TRIAL_PRIORITY, **settings}
    check_priority(project, settings["priority"], actor=actor)
    check_variables(settings.get("environment", {}), settings.get("secrets", []))
    check_secrets(project, settings.get("secrets", []))
    settings["epochs"] = with_training_defaults(dataset, settings)["epochs"]
    for point in (space_end(space, is_last=False), space_end(space, is_last=True)):
        _check_point(project, dataset, model, settings, point)
    return {
        **request,
        "settings": settings,
        "space": written(space),
        "rungs": _rungs(settings["epochs"], min_epochs, request),
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
    """The settings of a trial's job."""
    own = {name: value for name, value in parameters.items() if name != BATCH_SIZE}
    found = {**settings, "hyperparameters": {**settings.get("hyperparameters", {}), **own}}
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
    project: Project, dataset: DatasetVersion, model: ModelVersion, settings: dict[str, Any], point: dict[str, Value]
) -> None:
    """Whether a job of this point would be taken; what is wrong with a value is said of the space."""
    if not _is_whole(point.get(BATCH_SIZE, 1)):
        raise InvalidInputError(
            f"{BATCH_SIZE} may be {point[BATCH_SIZE]!r}.",
            field=f"space.{BATCH_SIZE}",
            remedy="Give whole numbers from 1 on, such as {choice: [16, 32]}.",
        )
    wanted = with_parameters(settings, dict(point))
    wanted = {name: value for name, value in wanted.items() if name not in ("name", "environment", "secrets")}
    try:
        check_request(project.organisation, dataset, model, with_training_defaults(dataset, wanted))
    except InvalidInputError as error:
        name = (error.field or "").removeprefix("hyperparameters.")
        error.field = f"space.{name}" if name in point else f"job.{error.field}"
        raise


def _is_whole(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _first_rung(epochs: int, eta: int, max_trials: int) -> int:
    """As early as 1 / 16 of the epochs, of which so many trials still bring one to the last rung."""
    n = 1
    while eta ** (n + 1) <= LEAST_FIRST_RUNG and epochs // eta ** (n + 1) >= 1:
        n += 1
    while n > 1 and eta ** (len(rungs_of(least=epochs // eta**n, most=epochs, eta=eta)) - 1) > max_trials:
        n -= 1
    return max(1, epochs // eta**n)


def _rungs(epochs: int, min_epochs: int | None, request: dict[str, Any]) -> list[int]:
    if request["algorithm"] != Algorithm.ASHA:
        if min_epochs is not None:
            raise InvalidInputError(
                f"min_epochs belongs to asha, and the algorithm is {request['algorithm']}.",
                field="min_epochs",
                remedy="Leave min_epochs out.",
            )
        return [epochs]
    eta = request["eta"]
    least = min_epochs or _first_rung(epochs, eta, request["max_trials"])
    if least >= epochs:
        raise InvalidInputError(
            f"Trials train for {epochs} epochs at most, and the first rung is at {least}.",
            field="min_epochs",
            remedy="Give min_epochs less than the job's epochs, or another algorithm.",
        )
    found = rungs_of(least=least, most=epochs, eta=eta)
    needed = eta ** (len(found) - 1)
    if request["max_trials"] < needed:
        raise InvalidInputError(
            f"Of {request['max_trials']} trials none would reach the last of {len(found)} rungs "
            f"({', '.join(map(str, found))} epochs): 1 of {needed} does.",
            field="max_trials",
            remedy=f"Give at least {needed} trials, a larger min_epochs, or a smaller eta.",
        )
    return list(found)
