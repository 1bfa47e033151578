# SPDX-License-Identifier: Apache-2.0
"""The strategies whose workers push to parameter servers, and their presets."""

from __future__ import annotations

from collections.abc import Mapping

from mlhub.runtime.strategies.catalogue.declarations import (
    COMPRESSION,
    PERIOD,
    WARMUP,
    Parameter,
    Preset,
    StrategyDeclaration,
)
from mlhub.wire.launch import SyncMode

_SCALING = Parameter(str, "none", choices=("none", "zhang", "dynsgd", "gupta", "dc", "dc_adaptive"))
_STALE = {
    "staleness_scaling": _SCALING,
    "dc_strength": Parameter(float, 0.04, minimum=0.0),
    "dc_decay": Parameter(float, 0.95, minimum=0.0, maximum=0.99999),
}
_SERVERS = SyncMode.PARAMETER_SERVER


def _on_servers(about: str, implementation: str, **parameters: Parameter) -> StrategyDeclaration:
    return StrategyDeclaration(about, _SERVERS, implementation, parameters, is_lockstep=False, survives=True)


WITH_SERVERS: Mapping[str, StrategyDeclaration] = {
    "bsp": StrategyDeclaration(
        "Synchronous parameter servers: every step waits for every worker.",
        _SERVERS,
        "synchronous.parameter_server:ParameterServer",
        COMPRESSION,
    ),
    "hierarchical": StrategyDeclaration(
        "bsp with `leaves` of the servers in between: each sums its workers' gradients and forwards the sum, so that "
        "the roots receive as many gradients as there are leaves. For many workers.",
        _SERVERS,
        "synchronous.parameter_server:ParameterServer",
        {"leaves": Parameter(int, 2, minimum=1, maximum=1024), **COMPRESSION},
    ),
    "asp": _on_servers(
        "Asynchronous: every push is applied at once.",
        "asynchronous.asynchronous:Asynchronous",
        warmup_steps=WARMUP,
        **_STALE,
        **COMPRESSION,
    ),
    "sparse_rows": _on_servers(
        "Asynchronous; a step moves only the rows of embeddings that its batch names. For large nn.Embedding layers, "
        "with plain SGD or Adagrad.",
        "asynchronous.sparse_rows:SparseRows",
    ),
    "bounded_delay": _on_servers(
        "Asynchronous, and workers compute on while their last `max_outstanding` exchanges are in flight: hides slow "
        "links behind staleness.",
        "asynchronous.bounded_delay:BoundedDelay",
        max_outstanding=Parameter(int, 1, minimum=0, maximum=64),
        staleness_scaling=Parameter(str, "dynsgd", choices=("none", "zhang", "dynsgd")),
        **COMPRESSION,
    ),
    "ssp": _on_servers(
        "Stale synchronous: no worker starts more than `staleness` steps ahead of the slowest. Helps against workers "
        "that are slow at random, not against one that is always slow.",
        "asynchronous.asynchronous:Asynchronous",
        staleness=Parameter(int, 3, minimum=0, maximum=10_000),
        warmup_steps=WARMUP,
        **_STALE,
        **COMPRESSION,
    ),
    "softsync": _on_servers(
        "A version of every `group` pushes; workers wait for it only with `block`.",
        "asynchronous.asynchronous:Asynchronous",
        group=Parameter(int, 2, minimum=1, maximum=10_000),
        block=Parameter(bool, False),
        warmup_steps=WARMUP,
        **_STALE,
        **COMPRESSION,
    ),
    "k_of_n": _on_servers(
        "The first k gradients make a version, the late ones are discarded.",
        "asynchronous.asynchronous:Asynchronous",
        k=Parameter(int, 1, minimum=1),
    ),
    "downpour": _on_servers(
        "Workers push summed gradients every n_push steps and fetch weights every n_fetch.",
        "asynchronous.downpour:Downpour",
        n_push=Parameter(int, 1, minimum=1),
        n_fetch=Parameter(int, 1, minimum=1),
        warmup_steps=WARMUP,
        **COMPRESSION,
    ),
    "adag": _on_servers(
        "Workers train `window` steps alone and push the mean of their steps.",
        "asynchronous.windowed:Windowed",
        window=PERIOD,
    ),
    "dynsgd": _on_servers(
        "Workers push the sum of `window` steps, which counts less when stale.",
        "asynchronous.windowed:Windowed",
        window=PERIOD,
    ),
    "easgd": _on_servers(
        "Workers train separately, pulled elastically towards a centre every `window` steps.",
        "asynchronous.windowed:Windowed",
        window=PERIOD,
        alpha=Parameter(float, 0.5, minimum=0.0, maximum=1.0, above_minimum=True),
        momentum=Parameter(float, 0.0, minimum=0.0, maximum=0.999),
    ),
}

_ELASTIC_NAMES = {"communication_window": "window"}
_ELASTIC_PRODUCTS = {"alpha": {"rho": 5.0, "learning_rate": 0.1}}  # dist-keras' defaults

PRESETS_WITH_SERVERS: Mapping[str, Preset] = {
    "elephas-asynchronous": Preset("asp"),
    "hogwild": Preset("asp"),
    "mxnet-dist-sync": Preset("bsp"),
    "mxnet-dist-async": Preset("asp"),
    "rudra-softsync": Preset("softsync", {"staleness_scaling": "gupta"}, aliases={"s": "group"}),
    "dc-asgd": Preset("asp", {"staleness_scaling": "dc"}, aliases={"lambda": "dc_strength"}),
    "dc-asgd-a": Preset(
        "asp",
        {"staleness_scaling": "dc_adaptive", "dc_strength": 2.0},
        aliases={"lambda": "dc_strength", "m": "dc_decay"},
    ),
    "mxnet-row-sparse": Preset("sparse_rows"),
    "rudra-adv": Preset("hierarchical"),
    "bounded-delay": Preset("bounded_delay", aliases={"tau": "max_outstanding"}),
    "mxnet-2bit": Preset("bsp", {"compression": "two_bit"}),
    "byteps-onebit": Preset("bsp", {"compression": "scaled_sign"}),
    "byteps-dithering": Preset(
        "bsp",
        {"compression": "dithering"},
        aliases={"k": "levels", "dithering_partition": "partition", "dithering_normalize": "norm"},
    ),
    "staleness-aware": Preset("asp", {"staleness_scaling": "zhang"}),
    "backup-workers": Preset("k_of_n"),
    "dist-keras-downpour": Preset("downpour", {"n_push": 5, "n_fetch": 5}),
    "dist-keras-adag": Preset("adag", {"window": 12}, aliases={"communication_window": "window"}),
    "dist-keras-dynsgd": Preset("dynsgd", {"window": 5}, aliases={"communication_window": "window"}),
    "aeasgd": Preset("easgd", {"window": 32, "alpha": 0.5}, _ELASTIC_NAMES, products=_ELASTIC_PRODUCTS),
    "eamsgd": Preset("easgd", {"window": 32, "momentum": 0.9}, _ELASTIC_NAMES, products=_ELASTIC_PRODUCTS),
}
