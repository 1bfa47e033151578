# SPDX-License-Identifier: Apache-2.0
"""The testbed's cluster and its jobs: what is drawn by seed, for the real nodes and for their simulated twin alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.virtual_nodes import NodeSpeed

FAST, SLOW = NodeSpeed("fast", 0.20), NodeSpeed("slow", 0.10)
RACKS = ((FAST, FAST, SLOW, SLOW), (FAST, FAST, SLOW, SLOW))
NIC_BPS, UPLINK_BPS = 200e6, 400e6
ORGANISATIONS = 2
COMPARED = ("fifo", "srtf", "tiresias", "optimus", "pollux", "gavel", "mlhub")
SEEDS = (1, 2, 3)
SHORTEST, LONGEST = 0.35, 2.5  # of a kind's typical length, log-uniform
GUESSES, GUESS_SHARES = (1, 2, 4), (0.5, 0.3, 0.2)  # workers that people ask for, where the policy needs it
GAP_S = 6.0  # between two submissions, on average


@dataclass(frozen=True)
class TrainingKind:
    """What jobs of one kind train. epochs: of one of typical length. mode: None = the scheduler's choice."""

    name: str
    model: str
    dataset: str
    batch_size: int
    epochs: int
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    mode: str | None = None


# Widths give steps of some 50 to 300 ms on a fast node. The wide perceptron's gradient takes a NIC 0.1 s, so that it
# hardly gains by workers; the large batch gains by all of them.
KINDS = (
    TrainingKind("cnn", "small_cnn", "mnist", 64, 3),
    TrainingKind("cnn-large-batch", "small_cnn", "mnist", 256, 3),
    TrainingKind("mlp-wide", "mlp", "mnist", 64, 8, {"width": 512}),
    TrainingKind("transformer", "tiny_transformer", "prose", 32, 2),
    TrainingKind("cnn-servers", "small_cnn", "mnist", 128, 3, {"width": 24}, mode="parameter_server"),
)


@dataclass(frozen=True)
class TestbedJob:
    """A job of the trace. guess: workers that a person might ask for, where the policy needs it."""

    __test__ = False  # no test, whatever pytest makes of its name

    at_s: float
    name: str
    kind: TrainingKind
    epochs: int
    guess: int
    organisation: int = 0


def jobs_of(seed: int, n_jobs: int) -> tuple[TestbedJob, ...]:
    """The jobs of one seed: kinds in turn and shuffled, so that every draw has all of them; Poisson arrivals."""
    dice = np.random.default_rng([seed, 14])
    kinds = [KINDS[i % len(KINDS)] for i in range(n_jobs)]
    at_s = np.cumsum(dice.exponential(GAP_S, n_jobs)) - GAP_S
    found = []
    for i, which in enumerate(dice.permutation(n_jobs)):
        kind = kinds[which]
        times = float(np.exp(dice.uniform(np.log(SHORTEST), np.log(LONGEST))))
        guess = int(dice.choice(GUESSES, p=GUESS_SHARES))
        epochs = max(1, round(kind.epochs * times))
        found.append(
            TestbedJob(max(0.0, float(at_s[i])), f"{i:02d}-{kind.name}", kind, epochs, guess, i % ORGANISATIONS)
        )
    return tuple(found)
