# SPDX-License-Identifier: Apache-2.0
"""May this job be taken at all? What can never run is refused at once, naming the limit; what must wait is not."""

from __future__ import annotations

import json
from typing import Any

from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.datasets.models import DatasetVersion, VersionState
from mlhub.jobs.limits.capacity import check_capacity, check_resources, types_of
from mlhub.jobs.models import ModeChoice
from mlhub.jobs.submission.batch_ranges import check_batch_range
from mlhub.jobs.submission.training_defaults import n_held_out
from mlhub.registry.models import Kind, ModelVersion
from mlhub.runtime.data.augmentation_options import check_augment
from mlhub.runtime.data.validation_options import check_own_part, check_validation, read_validation
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.model.builtin import HYPERPARAMETERS, check_examples
from mlhub.runtime.model.class_options import check_classes
from mlhub.runtime.model.hyperparameters import check_declared, read_optimizer, read_settings
from mlhub.runtime.model.requested_metrics import metrics_of
from mlhub.runtime.prediction.schema_compatibility import has_targets
from mlhub.runtime.strategies.catalogue.schema import COUNTED, StrategySpec, parse
from mlhub.tenants.models import Project
from mlhub.wire.formats import FILES_TASK

MAX_HYPERPARAMETERS_BYTES = 64 * 1024
MAX_STEPS = 10**9
SCRIPT_STRATEGIES = ("bsp", "ssp", "asp")
LIMITING = {
    "elastic_averaging": "alpha of at most 2 / (max_workers + 1)",
    "pipeline": "micro_batches of at least two a worker, or another schedule",
}


def check_versions(
    project: Project, dataset: DatasetVersion | None, model: ModelVersion, *, field: str = "dataset"
) -> None:
    """Both are usable, and of the project's organisation. Raises InvalidInputError, ConflictError.

    dataset: None is for scripts alone. field: of the request, that names the dataset.
    """
    owner = model.model.project
    if model.kind == Kind.MLFLOW:
        raise InvalidInputError(
            f"This version of {model.model.name} is a model that MLflow's client registered: MLHub does not run it.",
            field="model",
            remedy="Load it with MLflow, or upload code as a package or a script.",
        )
    if dataset is not None and dataset.dataset.project.organisation_id != project.organisation_id:
        raise InvalidInputError(
            f"The dataset is not of {project.organisation.name}.",
            field=field,
            remedy="Use a dataset and a project of the same organisation.",
        )
    if owner is not None and owner.organisation_id != project.organisation_id:
        raise InvalidInputError(
            f"The model is not of {project.organisation.name}.",
            field="model",
            remedy="Use a model and a project of the same organisation.",
        )
    _check_state(model, model.model.name, field="model")  # what kind it is only inspection says
    if dataset is None and model.kind != Kind.SCRIPT:
        raise InvalidInputError(
            f"Give either dataset or dataset_version: {model.model.name} is no script, which may do without.",
            field=field,
            remedy="Name a dataset.",
        )
    if dataset is not None:
        _check_state(dataset, dataset.dataset.name, field=field)


def _check_state(version: DatasetVersion | ModelVersion, name: str, *, field: str) -> None:
    """Whether the version is ready. Raises InvalidInputError, ConflictError."""
    if version.state in (VersionState.FETCHING, VersionState.INSPECTING):
        raise ConflictError(
            f"{name} is still being {'fetched' if version.state == VersionState.FETCHING else 'inspected'}.",
            code="not_ready",
            field=field,
            remedy="Try again when it is ready.",
        )
    if version.state == VersionState.NEEDS_COLUMNS:
        raise InvalidInputError(
            f"{name} waits for a choice of its columns: {(version.error or {}).get('message', '')}",
            field=field,
            remedy="Choose its columns on its page, or by POST to its version's /columns.",
        )
    if version.state == VersionState.REFUSED:
        raise InvalidInputError(
            f"{name} was refused: {(version.error or {}).get('message', '')}",
            field=field,
            remedy=(version.error or {}).get("remedy") or "Upload another version.",
        )


def check_request(
    project: Project, dataset: DatasetVersion | None, model: ModelVersion, request: dict[str, Any]
) -> dict[str, Any]:
    """The request, with the mode that its strategy needs. dataset: None for a script without one.

    Raises InvalidInputError or QuotaExceededError naming field, limit and remedy.
    """
    schema = (dataset.schema if dataset is not None else None) or {}
    request = _with_one_worker(model, request)
    least, most = request.get("min_workers", 1), request.get("max_workers", 64)
    if least > most:
        raise InvalidInputError(
            f"min_workers is {least}, max_workers {most}.", field="min_workers", remedy="Give at most max_workers."
        )
    if least > request["batch_size"]:
        raise InvalidInputError(
            f"{least} workers cannot share a batch of {request['batch_size']} examples.",
            field="min_workers",
            remedy="Give at most batch_size workers, or a larger batch.",
        )
    if len(json.dumps(request.get("hyperparameters") or {})) > MAX_HYPERPARAMETERS_BYTES:
        raise InvalidInputError(
            "The hyperparameters take more than 64 KiB.", field="hyperparameters", remedy="Put them into the package."
        )
    if (request.get("target_value") is None) != (not request.get("target_metric")):
        raise InvalidInputError(
            "target_metric and target_value go together.", field="target_value", remedy="Give both, or neither."
        )
    if model.kind != Kind.SCRIPT:  # a script reads its data as it likes
        _check_examples(model, schema)
        _check_settings(model, schema, request)
        _check_fit(schema, request)
    request = {**request, **_strategy(model, request)}
    if model.kind != Kind.SCRIPT:
        check_batch_range(request)
    check_capacity(project, request.get("min_workers", 1), types_of(request))
    check_resources(request)
    return request


def _with_one_worker(model: ModelVersion, request: dict[str, Any]) -> dict[str, Any]:
    """The request for a script that could not train together with others: one worker, unless more are asked for."""
    code = model.code_version or model
    n_asked = max(request.get("min_workers", 1), (request.get("resources") or {}).get("n_workers") or 1)
    is_left_open = not request.get("max_workers") and not request.get("strategy") and n_asked == 1
    if code.contract.get("is_distributed", True) or not is_left_open:
        return request
    return {**request, "max_workers": 1}


def _check_examples(model: ModelVersion, schema: dict[str, Any]) -> None:
    """Whether MLHub knows examples with targets in the dataset, and a built-in model can take them."""
    if schema.get("task") == FILES_TASK:
        raise InvalidInputError(
            "The dataset is of files of any kind, which only scripts and notebooks read.",
            field="dataset",
            remedy="Train a script on it, or upload the data in another format, which says what an example is.",
        )
    if not has_targets(schema):
        raise InvalidInputError(
            "The dataset was uploaded without targets: there is nothing to learn.",
            field="dataset",
            remedy="Predict on it, or upload it with targets.",
        )
    if model.kind == Kind.BUILTIN:
        try:
            check_examples(model.entry, schema)
        except BadInputError as error:
            raise InvalidInputError(error.message, field=error.field, remedy=error.remedy) from error


def _check_settings(model: ModelVersion, schema: dict[str, Any], request: dict[str, Any]) -> None:
    """The hyperparameters that the training loop and built-in models read; the dry run tries out those of uploads."""
    given = request.get("hyperparameters") or {}
    try:
        settings = read_settings(
            given,
            target_metric=request.get("target_metric") or None,
            target_value=request.get("target_value"),
        )
        check_augment(settings.augment, schema)
        metrics_of(settings.metrics, schema, has_usual_form=True)
        check_classes(
            class_weights=settings.class_weights,
            label_smoothing=settings.label_smoothing,
            sampling=settings.sampling,
            facts=schema,
        )
        check_own_part(given, schema)
        check_validation(read_validation(given), schema, n_examples=int(schema.get("n_examples") or 2))
        functions = (model.code_version or model).contract.get("functions", [])
        if model.kind == Kind.BUILTIN or (functions and "build_optimizer" not in functions):
            read_optimizer(given)
        if model.kind == Kind.BUILTIN:
            check_declared(given, HYPERPARAMETERS[model.entry])
    except BadInputError as error:
        raise InvalidInputError(error.message, field=error.field, remedy=error.remedy) from error


def _check_fit(schema: dict[str, Any], request: dict[str, Any]) -> None:
    """What inspection found out about the dataset, against what was asked for."""
    n_examples = int(schema.get("n_examples") or 0)
    validation = read_validation(request.get("hyperparameters") or {})
    n_train = n_examples - n_held_out(schema, validation) if n_examples else None
    if n_train is not None and request["batch_size"] > n_train:
        raise InvalidInputError(
            f"The batch size {request['batch_size']} is larger than the {n_train} training examples.",
            field="batch_size",
            remedy=f"Give at most {n_train}; the other {n_examples - n_train} examples are held out.",
        )


def _strategy(model: ModelVersion, request: dict[str, Any]) -> dict[str, Any]:
    """{} for MLHub's choice; else the strategy with all its parameters, the mode that it runs on, and the numbers of
    workers where it does not leave them open."""
    asked, pinned = request.get("strategy") or {}, request.get("mode", ModeChoice.AUTO)
    if not asked:
        return {}
    spec = _parsed(asked)
    if model.kind == Kind.SCRIPT:
        _check_script(spec)
    if spec.mode is not None and pinned not in (ModeChoice.AUTO, spec.mode):
        raise InvalidInputError(
            f"The strategy {spec.name} runs on {spec.mode}, and the mode is {pinned}.",
            field="mode",
            remedy="Leave mode out.",
        )
    mode = pinned if spec.mode is None else str(spec.mode)
    return {"strategy": spec.to_json(), "mode": mode, **_numbers(spec, request)}


def _parsed(asked: Any, *, n_workers: int | None = None) -> StrategySpec:
    try:
        return parse(asked, n_workers=n_workers)
    except BadInputError as error:
        raise InvalidInputError(error.message, field=error.field, remedy=error.remedy) from error


def _check_script(spec: StrategySpec) -> None:
    """A script synchronises by itself; of strategies it may have those that say how its tables on servers wait."""
    values, known = spec.parameters, spec.declaration.parameters
    extra = [key for key, p in known.items() if key != "staleness" and values[key] != p.default]
    if spec.name not in SCRIPT_STRATEGIES or extra:
        raise InvalidInputError(
            f"A script synchronises by itself; {', '.join(extra) or spec.name} means nothing to it.",
            field=f"strategy.{extra[0]}" if extra else "strategy",
            remedy="Leave strategy out; or give bsp, ssp with its staleness, or asp, for tables on servers.",
        )


def _least(spec: StrategySpec, request: dict[str, Any]) -> dict[str, int]:
    """A version of k gradients of different workers needs k workers, on every attempt."""
    key = next((key for key in COUNTED if spec.parameters.get(key, 0) > 1), None)
    if key is None:
        return {}
    needed, least, most = int(spec.parameters[key]), request.get("min_workers"), request.get("max_workers")
    for name, given in (("max_workers", most), ("min_workers", least)):
        if given is not None and given < needed:
            raise InvalidInputError(
                f"{key} is {needed}, and {name} is {given}.",
                field=f"strategy.{key}",
                remedy=f"Give at most {given}, or {name} of at least {needed}.",
            )
    if needed > request["batch_size"]:
        raise InvalidInputError(
            f"{key} is {needed}, and {needed} workers cannot share a batch of {request['batch_size']} examples.",
            field=f"strategy.{key}",
            remedy=f"Give at most {request['batch_size']}, or a larger batch_size.",
        )
    return {"min_workers": needed}


def _numbers(spec: StrategySpec, request: dict[str, Any]) -> dict[str, int]:
    """Where a strategy cannot be resized, or has a number of its own."""
    least, most = request.get("min_workers"), request.get("max_workers")
    limit = spec.max_workers
    if limit is not None:
        if (least or 1) > limit:
            raise InvalidInputError(
                f"The strategy {spec.name} has {limit} workers at most here.",
                field="min_workers",
                remedy=f"Give at most {limit}, or leave min_workers out.",
            )
        if (most or 1) > limit and spec.declaration.max_workers is None:
            raise InvalidInputError(
                f"With these parameters {spec.name} has {limit} workers at most, and max_workers is {most}.",
                field="max_workers",
                remedy=f"Give max_workers {limit}, or other parameters: {LIMITING[spec.name]}.",
            )
        return {"min_workers": least or 1, "max_workers": min(most or limit, limit)}
    if spec.declaration.is_resizable:
        if most is not None and "micro_batches" in spec.parameters:
            _parsed(spec.to_json(), n_workers=most)
        return _least(spec, request)
    n = least or most
    if n is None or (most or n) != n:
        raise InvalidInputError(
            f"The strategy {spec.name} runs on a number of workers that cannot change.",
            field="max_workers",
            remedy="Give min_workers and max_workers the same number.",
        )
    return {"min_workers": n, "max_workers": n}
