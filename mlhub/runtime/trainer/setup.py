# SPDX-License-Identifier: Apache-2.0
"""What a worker needs before its first step: data, model, optimiser, a checkpoint, and the plan of the training."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from safetensors.torch import load_file
from torch import nn

from mlhub.runtime.checkpoints import step_folders
from mlhub.runtime.checkpoints.step_folders import StepCheckpoint
from mlhub.runtime.data.node_cache import NodeCache
from mlhub.runtime.data.readers import Split, open_split
from mlhub.runtime.data.sampling import ClassBalance, Schedule
from mlhub.runtime.data.shard_folders import dataset_data
from mlhub.runtime.data.validation_options import read_validation
from mlhub.runtime.devices import make_current
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.heartbeat import Heartbeat
from mlhub.runtime.model.batch_norm import with_gang_batch_norm
from mlhub.runtime.model.contract import Contract, load_contract
from mlhub.runtime.model.ensemble import first_member
from mlhub.runtime.model.hyperparameters import Settings
from mlhub.runtime.model.option_checks import with_training_loss
from mlhub.runtime.pod import Pod
from mlhub.runtime.strategies.protocol import Strategy, TrainingPlan
from mlhub.runtime.trainer.acceleration import accelerate, check_machine
from mlhub.runtime.trainer.batches import ExampleSource


@dataclass(frozen=True)
class TrainingSetup:
    """checkpoint: the newest complete one, with whose weights the model starts; None: the training is new."""

    source: ExampleSource
    contract: Contract
    model: nn.Module
    optimizer: torch.optim.Optimizer
    checkpoint: StepCheckpoint | None
    plan: TrainingPlan

    @property
    def data(self) -> Split:
        return self.source.data


def set_up(pod: Pod, settings: Settings, strategy: Strategy, heartbeat: Heartbeat) -> TrainingSetup:
    """Loads what the pod's specification names. Raises BadInputError, and whatever the user's code raises."""
    spec = pod.spec.training
    data = _open_data(pod)
    package = None if pod.spec.model.package is None else pod.input(pod.spec.model.package)
    contract = load_contract(pod.spec.model, package, code=pod.code, facts=data.facts, standardise=settings.standardise)
    contract = with_training_loss(contract, settings, data)
    balance = ClassBalance(data.examples.targets(data.train)) if settings.sampling == "balanced" else None
    schedule = Schedule(len(data.train), spec.batch_size, spec.epochs, spec.seed + strategy.order, balance)
    seed = spec.seed + strategy.member
    torch.manual_seed(seed)
    values = contract.settings(spec.hyperparameters, data.facts)
    device = strategy.device()
    make_current(device)
    check_machine(settings, device)
    model = contract.build_model(values)
    if settings.sync_batch_norm:
        model = with_gang_batch_norm(model)
    model = accelerate(model.to(device), settings, cache=pod.cache)
    optimizer = contract.build_optimizer(model, values)
    checkpoint = _load_weights(pod, model)
    plan = TrainingPlan(
        steps=schedule.steps_total,
        steps_per_epoch=schedule.steps_per_epoch,
        start=0 if checkpoint is None else checkpoint.step,
        rates=settings.rates(schedule.steps_total),
        clip_norm=settings.clip_norm,
        heartbeat=heartbeat,
        scales_loss=settings.precision == "float16",
    )
    return TrainingSetup(ExampleSource(data, schedule, settings, seed), contract, model, optimizer, checkpoint, plan)


def _open_data(pod: Pod) -> Split:
    dataset, training = pod.spec.dataset, pod.spec.training
    if dataset is None:
        raise BadInputError("The job has no dataset.", field="dataset", remedy="Name one, or train with a script.")
    data = dataset_data(dataset, pod.spec.inputs, pod.input, pod.work)
    return open_split(
        dataset.format,
        data.path,
        dataset.schema,
        validation=read_validation(training.hyperparameters, fraction=training.evaluation_fraction),
        cache=NodeCache(pod.cache),
        sha256=data.sha256,
    )


def _load_weights(pod: Pod, model: nn.Module) -> StepCheckpoint | None:
    """Loads the newest complete checkpoint of the job, or the weights that a new training starts from."""
    checkpoint = step_folders.latest(pod.checkpoints, before_attempt=pod.spec.attempt_number)
    if checkpoint is not None:
        model.load_state_dict(checkpoint.weights())
    elif pod.spec.model.weights is not None:
        model.load_state_dict(first_member(load_file(pod.input(pod.spec.model.weights))))
    return checkpoint
