# SPDX-License-Identifier: Apache-2.0
"""TPE: points where earlier trials did well, by Optuna's ask-and-tell.

Optuna is imported when the first point is asked for. Its study lives for one question: it is filled with the recorded
trials, so that nothing but the database has to survive a restart.
Source: Bergstra et al., Algorithms for Hyper-Parameter Optimization (NeurIPS 2011).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mlhub.experiments.algorithms.space import Options, RealRange, SearchSpace, Value, ValueRange

N_RANDOM = 10  # trials before the first that learns from others


@dataclass(frozen=True)
class TriedPoint:
    """value: larger is better; None while the trial runs, and for one that failed."""

    parameters: Mapping[str, Value]
    value: float | None
    is_running: bool = False


def suggest(space: SearchSpace, tried: Sequence[TriedPoint], *, number: int, seed: int) -> dict[str, Value]:
    """The point of trial `number`: random for the first N_RANDOM, then where the model expects an improvement.

    The same arguments give the same point. Points of running trials are avoided (constant liar).
    """
    if number < N_RANDOM:
        return space.sample(number, seed=seed) or space.grid_point(0)
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    distributions = {name: _distribution(optuna, values) for name, values in space.parameters.items()}
    sampler = optuna.samplers.TPESampler(seed=(seed + number) % 2**32, n_startup_trials=1, constant_liar=True)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for point in tried:
        if point.value is None and not point.is_running:
            continue
        state = optuna.trial.TrialState.RUNNING if point.is_running else optuna.trial.TrialState.COMPLETE
        study.add_trial(
            optuna.trial.create_trial(
                state=state, params=dict(point.parameters), distributions=distributions, value=point.value
            )
        )
    asked: dict[str, Value] = study.ask(distributions).params
    return {name: asked[name] for name in space.parameters}


def _distribution(optuna: Any, values: ValueRange) -> Any:
    if isinstance(values, Options):
        return optuna.distributions.CategoricalDistribution(values.values)
    if isinstance(values, RealRange):
        return optuna.distributions.FloatDistribution(values.low, values.high, log=values.is_log)
    return optuna.distributions.IntDistribution(values.low, values.high, log=values.is_log)
