"""Which strategy a job's workers run. To add one: its file, a line here, a line in schema.py, an equivalence test."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.pod import Pod
from mlhub.runtime.strategies.asynchronous.asynchronous import Asynchronous, BoundedDelay, Downpour, Windowed
from mlhub.runtime.strategies.asynchronous.sparse_rows import SparseRows
from mlhub.runtime.strategies.averaging.elastic_averaging import ElasticAveraging
from mlhub.runtime.strategies.averaging.model_averaging import Averaging, BlockMomentumAveraging
from mlhub.runtime.strategies.catalogue.schema import AUTO, StrategySpec, parse
from mlhub.runtime.strategies.decentralised.gossip import GoSgd, Gossip, PushSumGossip, RandomGossip
from mlhub.runtime.strategies.model_parallel.pipeline import PipelineParallel
from mlhub.runtime.strategies.model_parallel.tensor_parallel import TensorParallel
from mlhub.runtime.strategies.protocol import Strategy
from mlhub.runtime.strategies.synchronous.all_reduce import AllReduce
from mlhub.runtime.strategies.synchronous.ensemble import Ensemble
from mlhub.runtime.strategies.synchronous.main_worker import MainWorker
from mlhub.runtime.strategies.synchronous.parameter_server import ParameterServer
from mlhub.runtime.strategies.synchronous.sharded import Sharded
from mlhub.runtime.strategies.synchronous.sufficient_factor_broadcasting import SufficientFactorBroadcasting
from mlhub.wire.launch import Mode


def single(pod: Pod, spec: StrategySpec) -> Strategy:  # noqa: ARG001 (it has no parameters)
    """One worker, which has nobody to speak with."""
    return AllReduce(pod, parse({"name": "all_reduce"}))


STRATEGIES: Mapping[str, Callable[[Pod, StrategySpec], Strategy]] = {
    "all_reduce": AllReduce,
    "bsp": ParameterServer,
    "hierarchical": ParameterServer,
    "asp": Asynchronous,
    "sparse_rows": SparseRows,
    "bounded_delay": BoundedDelay,
    "ssp": Asynchronous,
    "softsync": Asynchronous,
    "k_of_n": Asynchronous,
    "downpour": Downpour,
    "adag": Windowed,
    "dynsgd": Windowed,
    "easgd": Windowed,
    "averaging": Averaging,
    "block_momentum": BlockMomentumAveraging,
    "elastic_averaging": ElasticAveraging,
    "gossip": Gossip,
    "random_gossip": RandomGossip,
    "push_sum": PushSumGossip,
    "gosgd": GoSgd,
    "main_worker": MainWorker,
    "outer_products": SufficientFactorBroadcasting,
    "sharded": Sharded,
    "ensemble": Ensemble,
    "single": single,
    "pipeline": PipelineParallel,
    "fully_sharded": TensorParallel,
    "tensor": TensorParallel,
    "hybrid": TensorParallel,
}
DEFAULTS: Mapping[Mode, str] = {Mode.ALL_REDUCE: "all_reduce", Mode.PARAMETER_SERVER: "bsp"}


def strategy_for(pod: Pod) -> Strategy:
    """Raises BadInputError for a strategy that means nothing, or that the gang was not made for."""
    spec = parse(pod.spec.training.strategy, n_workers=pod.spec.n_workers)
    if spec.name == AUTO:
        spec = parse({"name": DEFAULTS[pod.spec.mode]})
    if spec.mode is not pod.spec.mode:
        raise BadInputError(
            f"The strategy {spec.name} runs on {spec.mode}, and the gang was made for {pod.spec.mode}.",
            field="strategy.name",
            remedy=f"Pin the mode {spec.mode}, or leave it to MLHub.",
        )
    return STRATEGIES[spec.name](pod, spec)
