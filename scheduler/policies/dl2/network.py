# SPDX-License-Identifier: Apache-2.0
"""The network behind DL2 in numpy: it scores the jobs for the next GPUs; its weights are made by
benchmarks/train_dl2.py.

Axes: J jobs, F features of a job, H hidden. Every job goes through the same layers, so any number of jobs will do.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import numpy as np

from scheduler.api.arrays import Floats

Weights = Mapping[str, Floats]

N_FEATURES = 10
N_HIDDEN = 32
SHAPES = {
    "seen_w": (N_FEATURES, N_HIDDEN),
    "seen_b": (N_HIDDEN,),
    "mixed_w": (2 * N_HIDDEN, N_HIDDEN),
    "mixed_b": (N_HIDDEN,),
    "score_w": (N_HIDDEN, 1),
    "score_b": (1,),
    "stop_w": (N_HIDDEN, 1),
    "stop_b": (1,),
}


@cache
def trained() -> Weights:
    """Returns the weights that come with the package.

    Raises ValueError if the file does not hold what the network needs.
    """
    with files("scheduler.policies.dl2").joinpath("weights.npz").open("rb") as file, np.load(file) as archive:
        return checked({name: archive[name].astype(np.float64) for name in archive.files})


def checked(weights: Weights) -> Weights:
    """Returns the weights if each has its shape. Raises ValueError that names the first that has not."""
    for name, shape in SHAPES.items():
        if name not in weights or weights[name].shape != shape:
            found = weights[name].shape if name in weights else "nothing"
            raise ValueError(f"dl2 weights: {name!r} must have shape {shape}, not {found}; train them anew")
    return weights


def logits(features_JF: Floats, weights: Weights) -> Floats:
    """Returns scores of giving each job its next GPUs, and of stopping; shape (J + 1,). Stopping is the last."""
    seen_JH = np.maximum(features_JF @ weights["seen_w"] + weights["seen_b"], 0.0)
    all_H = seen_JH.mean(axis=0)
    both = np.concatenate([seen_JH, np.broadcast_to(all_H, seen_JH.shape)], axis=1)
    mixed_JH = np.maximum(both @ weights["mixed_w"] + weights["mixed_b"], 0.0)
    score_J = (mixed_JH @ weights["score_w"] + weights["score_b"])[:, 0]
    stop = all_H @ weights["stop_w"] + weights["stop_b"]
    return np.concatenate([score_J, stop])
