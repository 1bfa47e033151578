# SPDX-License-Identifier: Apache-2.0
"""The implementation of a job's strategy, imported when it is used: a job pays for its own strategy only.

To add a strategy: its file, its entry in the catalogue, a test, and its row in docs/guides/strategies.md.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.pod import Pod
from mlhub.runtime.strategies.catalogue.schema import AUTO, STRATEGIES, StrategySpec, parse
from mlhub.runtime.strategies.protocol import Strategy
from mlhub.wire.launch import SyncMode

DEFAULTS: Mapping[SyncMode, str] = {SyncMode.ALL_REDUCE: "all_reduce", SyncMode.PARAMETER_SERVER: "bsp"}


def implementation_of(name: str) -> Callable[[Pod, StrategySpec], Strategy]:
    """The class of a strategy of the catalogue. Raises KeyError for an unknown name."""
    module, _, attribute = STRATEGIES[name].implementation.partition(":")
    found: Callable[[Pod, StrategySpec], Strategy] = getattr(
        importlib.import_module(f"mlhub.runtime.strategies.{module}"), attribute
    )
    return found


def strategy_for(pod: Pod) -> Strategy:
    """The strategy of a pod's job. Raises BadInputError for an invalid one, or one that the gang was not made for."""
    spec = parse(pod.spec.training.strategy, n_workers=pod.spec.n_workers)
    if spec.name == AUTO:
        spec = parse({"name": DEFAULTS[pod.spec.mode]})
    if spec.mode is not pod.spec.mode:
        raise BadInputError(
            f"The strategy {spec.name} runs on {spec.mode}, and the gang was made for {pod.spec.mode}.",
            field="strategy.name",
            remedy=f"Pin the mode {spec.mode}, or leave it to MLHub.",
        )
    return implementation_of(spec.name)(pod, spec)
