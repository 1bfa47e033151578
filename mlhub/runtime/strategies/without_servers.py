"""The schemes in which workers speak to each other only, and what others call them."""

from __future__ import annotations

from collections.abc import Mapping

from mlhub.runtime.strategies.declarations import COMPRESSIONS, PERIOD, Parameter, Preset, Scheme
from mlhub.wire.launch import Mode

_ALL = Mode.ALL_REDUCE
WITHOUT_SERVERS: Mapping[str, Scheme] = {
    "all_reduce": Scheme(
        "Every worker holds the model; gradients are averaged, or added where they differ (adasum).",
        _ALL,
        {
            "compression": Parameter(str, "none", choices=(*COMPRESSIONS, "power_sgd")),
            "threshold": Parameter(float, 0.5, minimum=0.0, above_minimum=True),
            "density": Parameter(float, 0.01, minimum=0.0, maximum=1.0, above_minimum=True),
            "rank": Parameter(int, 1, minimum=1, maximum=1024),
            "plain_steps": Parameter(int, 10, minimum=2, maximum=1_000_000),
            "reduction": Parameter(str, "mean", choices=("mean", "adasum")),
        },
    ),
    "averaging": Scheme(
        "Workers train alone and average their models every `period` steps, after `warmup_steps` of all-reduce.",
        _ALL,
        {"period": PERIOD, "warmup_steps": Parameter(int, 0, minimum=0)},
    ),
    "block_momentum": Scheme(
        "Averaging with momentum from block to block (BMUF); momentum 1 - 1/workers unless given (-1).",
        _ALL,
        {
            "period": PERIOD,
            "momentum": Parameter(float, -1.0, minimum=-1.0, maximum=0.999),
            "rate": Parameter(float, 1.0, minimum=0.0, above_minimum=True),
            "nesterov": Parameter(bool, True),
        },
    ),
    "gossip": Scheme(
        "Workers average with their neighbours only, every `period` steps; no server, no all-reduce.",
        _ALL,
        {
            "topology": Parameter(str, "ring", choices=("ring", "exponential", "complete")),
            "period": Parameter(int, 1, minimum=1),
        },
    ),
}

OTHER_NAMES: Mapping[str, Preset] = {
    "elephas-synchronous": Preset("averaging"),
    "cntk-block-momentum": Preset("block_momentum"),
    "local-sgd": Preset("averaging"),
    "d-psgd": Preset("gossip"),
    "horovod": Preset("all_reduce"),
    "horovod-adasum": Preset("all_reduce", {"reduction": "adasum"}),
    "power-sgd": Preset("all_reduce", {"compression": "power_sgd"}),
    "cntk-1bit": Preset("all_reduce", {"compression": "one_bit"}),
}

# parameters that mean something only beside a value of another one
ONLY_WITH: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "dc_strength": ("staleness_scaling", ("dc", "dc_adaptive")),
    "rank": ("compression", ("power_sgd",)),
    "plain_steps": ("compression", ("power_sgd",)),
    "threshold": ("compression", ("two_bit",)),
    "density": ("compression", ("top_k", "random_k")),
    "reduction": ("compression", ("none",)),
}
