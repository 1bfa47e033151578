# SPDX-License-Identifier: Apache-2.0
"""One process: all-reduce over one worker, which exchanges nothing."""

from __future__ import annotations

from mlhub.runtime.pod import Pod
from mlhub.runtime.strategies.catalogue.schema import StrategySpec, parse
from mlhub.runtime.strategies.synchronous.all_reduce import AllReduce


class SingleProcess(AllReduce):
    """The strategy has no parameters; all-reduce gets the defaults of its own."""

    def __init__(self, pod: Pod, spec: StrategySpec) -> None:  # noqa: ARG002 (the signature of all strategies)
        super().__init__(pod, parse({"name": "all_reduce"}))
