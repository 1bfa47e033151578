"""How workers agree on one model, one file a strategy. To add one: its file, a line here, an equivalence test."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mlhub.runtime.pod import Pod
from mlhub.runtime.strategies.all_reduce import AllReduce
from mlhub.runtime.strategies.parameter_server import ParameterServer
from mlhub.runtime.strategies.protocol import Strategy
from mlhub.wire.launch import Mode

STRATEGIES: Mapping[Mode, Callable[[Pod], Strategy]] = {
    Mode.ALL_REDUCE: AllReduce,
    Mode.PARAMETER_SERVER: ParameterServer,
}
