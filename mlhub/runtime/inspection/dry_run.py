# SPDX-License-Identifier: Apache-2.0
"""Tries a job out on a few examples before it may hold GPUs: errors come at once, speed gets a first estimate."""

from __future__ import annotations

import resource
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mlhub.runtime.data import archives
from mlhub.runtime.data.augmentation_options import check_augment
from mlhub.runtime.data.readers import Split, open_first
from mlhub.runtime.data.sampling import Schedule
from mlhub.runtime.data.shard_folders import dataset_data
from mlhub.runtime.data.validation_options import check_own_part, read_validation
from mlhub.runtime.errors import BadInputError, NotANumberError
from mlhub.runtime.inspection.setting_checks import check_batch_size, check_memory_format, check_settings
from mlhub.runtime.inspection.trials import check_fit, outputs_of, tried
from mlhub.runtime.model.batch_norm import require_batch_norm
from mlhub.runtime.model.contract import Contract, load_contract
from mlhub.runtime.model.evaluation_metrics import metric_names
from mlhub.runtime.model.hyperparameters import Settings, read_settings
from mlhub.runtime.model.option_checks import check_options, with_training_loss
from mlhub.runtime.model.requested_metrics import check_number_of_scores, metrics_of
from mlhub.runtime.model.whole_set_metrics import WholeSetMetrics
from mlhub.runtime.ps.layout import ELEMENTWISE, plan_shards
from mlhub.runtime.strategies.asynchronous.sparse_rows import tables_of
from mlhub.runtime.strategies.catalogue.schema import StrategySpec, parse
from mlhub.runtime.strategies.feasibility import possible_workers
from mlhub.wire.launch import PodSpec, SyncMode
from mlhub.wire.report import MAX_VALUES

SMALL, LARGE = 4, 32  # examples; two sizes separate the cost of an example from the cost of a step
N_REPEATS = 3
N_READ = LARGE * (N_REPEATS + 1)  # training and held-out examples that steps and metrics are tried with


def try_out(spec: PodSpec, inputs: Mapping[str, Path], *, code: Path) -> dict[str, Any]:
    """The job's profile. Raises BadInputError, NotANumberError and whatever the user's code raises.

    1. the settings, with each other and with the strategy; 2. the data, and the settings that depend on them; 3. the
    model and its optimiser, as the user's code makes them; 4. an evaluation; 5. what steps of two sizes cost.
    """
    if spec.model.kind == "script":
        assert spec.model.package is not None
        archives.extract(inputs[spec.model.package], code)
        return {"is_script": True, "servers_possible": False}
    training = spec.training
    strategy = parse(training.strategy)
    settings = read_settings(
        training.hyperparameters, target_metric=training.target_metric, target_value=training.target_value
    )
    check_settings(settings, strategy, training, mode=spec.mode)  # 1
    data = _data_of(spec, inputs, code)  # 2
    check_augment(settings.augment, data.facts)
    check_memory_format(settings, data)
    check_batch_size(training, data)
    package = None if spec.model.package is None else inputs[spec.model.package]
    contract = load_contract(spec.model, package, code=code, facts=data.facts, standardise=settings.standardise)
    check_options(settings, contract, data.facts)
    contract = with_training_loss(contract, settings, data)
    torch.manual_seed(training.seed)
    torch.set_num_threads(1)
    model, optimizer = _built(contract, contract.settings(training.hyperparameters, data.facts))  # 3
    if strategy.name == "sparse_rows":
        tables_of(model, optimizer)
    if settings.sync_batch_norm:
        require_batch_norm(model)
    metrics = _check_evaluation(model, contract, data, training.target_metric, settings)  # 4
    schedule = Schedule(len(data.train), training.batch_size, training.epochs, training.seed)
    trained = [p for p in model.parameters() if p.requires_grad]
    return {
        "n_parameters": sum(p.numel() for p in trained),
        "parameters_bytes": sum(p.numel() * p.element_size() for p in trained),
        **_step_costs(model, contract, data),  # 5
        "n_train": len(data.train),
        "n_held_out": len(data.held_out),
        "steps_per_epoch": schedule.steps_per_epoch,
        "steps_total": schedule.steps_total,
        "memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "optimizer": type(optimizer).__name__,
        "metrics": metrics,
        "servers_possible": _can_use_servers(model, optimizer) and _is_same_on_servers(settings, strategy),
        "strategy": strategy.name,
        "workers_possible": possible_workers(strategy, model, optimizer),
    }


def _data_of(spec: PodSpec, inputs: Mapping[str, Path], code: Path) -> Split:
    """The job's dataset, with the part held out that the job asks for."""
    assert spec.dataset is not None
    training = spec.training
    check_own_part(training.hyperparameters, spec.dataset.schema)
    return open_first(
        spec.dataset.format,
        dataset_data(spec.dataset, spec.inputs, inputs.__getitem__, code.parent).path,
        spec.dataset.schema,
        validation=read_validation(training.hyperparameters, fraction=training.evaluation_fraction),
        n=N_READ,
    )


def _built(contract: Contract, values: dict[str, Any]) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    """What the user's code makes of these hyperparameters."""
    with tried("build_model", "Correct it and upload the package again."):
        model = contract.build_model(values)
    if not isinstance(model, torch.nn.Module):
        raise BadInputError(
            f"build_model returned a {type(model).__name__}.", field="build_model", remedy="Return a torch.nn.Module."
        )
    with tried("build_optimizer", "Correct it and upload the package again."):
        return model, contract.build_optimizer(model, values)


def _check_evaluation(
    model: torch.nn.Module, contract: Contract, data: Split, target: str | None, settings: Settings
) -> list[str]:
    """Names of the metrics on held-out examples. Raises BadInputError when the target metric is not among them."""
    inputs, targets = data.batch(data.held_out[:SMALL])
    model.eval()
    with torch.no_grad():
        outputs = outputs_of(model, contract, inputs, data.facts)
        if contract.has_usual_loss:
            check_fit(outputs, targets, data.facts)
        whole = _whole_set_metrics(contract, data, outputs, targets, settings.metrics)
        with tried("metrics", "It is given the model's outputs and the targets of a batch, and returns {name: mean}."):
            names = metric_names(contract, data, outputs, targets)
    names = sorted({*names, *whole})
    if len(names) > MAX_VALUES:
        raise BadInputError(
            f"There are {len(names):,} metrics, and a job has at most {MAX_VALUES}.",
            field="metrics",
            remedy="Return fewer from metrics(), such as means over classes.",
        )
    model.train()
    if target and target not in names:
        raise BadInputError(
            f"The target metric {target} does not exist.", field="target_metric", remedy=f"One of {', '.join(names)}."
        )
    if settings.monitor and settings.monitor not in names:
        raise BadInputError(
            f"The metric {settings.monitor} does not exist.",
            field="hyperparameters.monitor",
            remedy=f"One of {', '.join(names)}.",
        )
    return names


def _whole_set_metrics(
    contract: Contract, data: Split, outputs: Any, targets: torch.Tensor, asked: tuple[str, ...] | None
) -> list[str]:
    """The names of the metrics of the whole evaluation set. Raises BadInputError for those that do not fit."""
    is_usual = contract.has_usual_loss and contract.has_usual_metrics
    names = metrics_of(asked, data.facts, has_usual_form=is_usual)
    check_number_of_scores(names, data.facts, n_held_out=len(data.held_out))
    if names:
        check_fit(outputs, targets, data.facts)
    whole = WholeSetMetrics(names, data.facts, n_held_out=len(targets), answers=contract.answers)
    whole.add(outputs, targets, start=0)
    undefined = {"eval/auc"} & {f"eval/{name}" for name in names}  # a few examples may be of one class
    return [*undefined, *whole.values(whole.vector())]


def _step_costs(model: torch.nn.Module, contract: Contract, data: Split) -> dict[str, float]:
    """Seconds of an example and of a step without its examples: from steps of two sizes."""
    large = min(LARGE, len(data.train))
    small_s, large_s = (_step_s(model, contract, data, n) for n in (SMALL, large))
    example_s = max(1e-9, (large_s - small_s) / (large - SMALL) if len(data.train) > SMALL else 0)
    return {"example_s": example_s, "step_overhead_s": max(0.0, small_s - SMALL * example_s)}


def _step_s(model: torch.nn.Module, contract: Contract, data: Split, n_examples: int) -> float:
    """Processor seconds of a forward and backward pass: the fastest of some.

    Not those of the clock: other dry runs and pods may have the processors meanwhile, and passes of a small network
    would then count as many times longer than they are.
    """
    times = []
    for repeat in range(N_REPEATS + 1):
        chosen = np.arange(repeat * n_examples, (repeat + 1) * n_examples) % len(data.train)
        began = time.perf_counter(), time.process_time()
        inputs, targets = data.batch(data.train[chosen])
        outputs = outputs_of(model, contract, inputs, data.facts)
        with tried("loss", "It is given the model's outputs and the targets of a batch, and returns their mean."):
            loss = (contract.training_loss or contract.loss)(outputs, targets)
        if not isinstance(loss, torch.Tensor) or loss.dim() != 0:
            found = f"a tensor of shape {tuple(loss.shape)}" if isinstance(loss, torch.Tensor) else type(loss).__name__
            raise BadInputError(f"loss returned {found}.", field="loss", remedy="Return the mean, a tensor.")
        if not torch.isfinite(loss):
            raise NotANumberError(f"The loss of the first batch is {loss.item()}.")
        with tried("loss", "Its gradient cannot be taken; detach() and item() cut the way back."):
            torch.autograd.backward(loss)
        model.zero_grad()
        times.append(min(time.perf_counter() - began[0], time.process_time() - began[1]))
    return min(times[1:])


def _is_same_on_servers(settings: Settings, strategy: StrategySpec) -> bool:
    """A norm is of the whole gradient, which no server sees, and only all-reduce scales losses, grows batches, averages
    weights or lowers the rate on a plateau: where MLHub may choose, it then chooses all-reduce."""
    is_same = settings.clip_norm is None and settings.precision != "float16" and settings.max_batch_size is None
    is_same = is_same and settings.ema_decay is None and settings.lr_schedule != "plateau"
    is_same = is_same and not settings.sync_batch_norm
    return is_same or strategy.mode is SyncMode.PARAMETER_SERVER


def _can_use_servers(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> bool:
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    if type(optimizer).__name__ not in ELEMENTWISE or any(p.dtype != torch.float32 for _, p in named):
        return False
    try:
        plan_shards(named, optimizer, n_shards=1, n_workers=1, resume_from=None)
    except BadInputError:
        return False
    return bool(named)
