# SPDX-License-Identifier: Apache-2.0
"""A plain torch loop as somebody would write it who knows the data: standardised numbers, the best of some settings."""

from __future__ import annotations

import itertools
import types
from typing import Any

import torch
from torch import nn

from benchmarks.defaults_sets import Set
from mlhub.runtime.data.normalisation import ColumnScale, Standardised
from mlhub.runtime.data.readers import Split
from mlhub.runtime.data.sampling import Schedule
from mlhub.runtime.model.builtin import mlp, small_cnn, tiny_transformer

BUILTINS = {"mlp": mlp, "small_cnn": small_cnn, "tiny_transformer": tiny_transformer}
RATES, N_STEPS = (1e-3, 3e-3), (200, 1000)
LONG = (400, 1200)  # of pictures and texts
BATCH_SIZE, AT_ONCE = 32, 512


def tuned(each: Set, split: Split, *, seed: int) -> dict[str, float]:
    """The best metrics on held-out examples, as a trainer names them."""
    is_long = each.format == "text" or len(split.facts["input_shape"]) == 3
    found = [
        _loop(each, split, rate=rate, n_steps=n_steps, seed=seed)
        for rate, n_steps in itertools.product(RATES, LONG if is_long else N_STEPS)
    ]
    return min(found, key=lambda metrics: (-metrics.get("eval/accuracy", 0.0), metrics["eval/loss"]))


def _loop(each: Set, split: Split, *, rate: float, n_steps: int, seed: int) -> dict[str, float]:
    torch.manual_seed(seed)
    facts = dict(split.facts)
    regression = ColumnScale.of(facts, is_own=not each.is_own and each.model == "mlp")
    before = Standardised.of(facts, also_whole=True)
    model = _module(each).build_model(facts)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    rates = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_steps)
    epochs = 1 + n_steps * BATCH_SIZE // len(split.train)
    schedule = Schedule(len(split.train), min(BATCH_SIZE, len(split.train)), epochs, seed)

    def loss_of(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        if facts["task"] == "regression":
            return regression.loss(outputs, targets)
        return nn.functional.cross_entropy(outputs.flatten(0, -2), targets.flatten())

    for step in range(min(n_steps, schedule.steps_total)):
        inputs, targets = split.batch(split.train[schedule.batch(step)])
        loss = loss_of(model(before(inputs) if before else inputs), targets)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        rates.step()
    model.eval()
    sums: dict[str, float] = {"loss": 0.0, "accuracy": 0.0}
    with torch.no_grad():
        for start in range(0, len(split.held_out), AT_ONCE):
            inputs, targets = split.batch(split.held_out[start : start + AT_ONCE])
            outputs = model(before(inputs) if before else inputs)
            sums["loss"] += float(loss_of(outputs, targets)) * len(targets)
            if facts["task"] == "classification":
                sums["accuracy"] += float((outputs.argmax(-1) == targets).float().mean()) * len(targets)
    means = {f"eval/{name}": value / len(split.held_out) for name, value in sums.items()}
    if facts["task"] == "language_modelling":
        bits = means["eval/loss"] / 0.6931471805599453 / float(facts["bytes_per_token"])
        return {"eval/loss": means["eval/loss"], "eval/bits_per_byte": bits}
    return means if facts["task"] == "classification" else {"eval/loss": means["eval/loss"]}


def _module(each: Set) -> Any:
    if not each.is_own:
        return BUILTINS[each.model]
    module = types.ModuleType("own_model")
    exec(each.model, module.__dict__)
    return module
