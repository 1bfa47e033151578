"""The schemes in which workers speak to each other only, and what others call them."""

from __future__ import annotations

from collections.abc import Mapping

from mlhub.runtime.strategies.catalogue.declarations import (
    COMPRESSIONS,
    FEWER_BYTES,
    PERIOD,
    WARMUP,
    Parameter,
    Preset,
    Scheme,
)
from mlhub.wire.launch import Mode

_ALL = Mode.ALL_REDUCE
IN_TURN = ("interleaved_1f1b", "interleaved_zero_bubble")
SCHEDULES = ("gpipe", "1f1b", *IN_TURN, "zero_bubble_v", "dualpipe_v")
PERIOD_OF_ONE = Parameter(int, 1, minimum=1, maximum=100_000)
WITHOUT_SERVERS: Mapping[str, Scheme] = {
    "all_reduce": Scheme(
        "Every worker holds the model; gradients are averaged, or added where they differ (adasum). Compressed ones "
        "travel whole in the first plain_steps: none, and 10 of power_sgd, unless given (-1).",
        _ALL,
        {
            **FEWER_BYTES,
            "compression": Parameter(str, "none", choices=(*COMPRESSIONS, "power_sgd")),
            "rank": Parameter(int, 1, minimum=1, maximum=1024),
            "plain_steps": Parameter(int, -1, minimum=-1, maximum=1_000_000),
            "reduction": Parameter(str, "mean", choices=("mean", "adasum")),
        },
    ),
    "averaging": Scheme(
        "Workers train alone and average their models every `period` steps, after `warmup_steps` of all-reduce; with "
        "average_state also what their optimisers keep.",
        _ALL,
        {"period": PERIOD, "warmup_steps": WARMUP, "average_state": Parameter(bool, False)},
    ),
    "block_momentum": Scheme(
        "Averaging with momentum from block to block (BMUF); momentum 1 - 1/workers unless given (-1).",
        _ALL,
        {
            "period": PERIOD,
            "momentum": Parameter(float, -1.0, minimum=-1.0, maximum=0.999),
            "rate": Parameter(float, 1.0, minimum=0.0, above_minimum=True),
            "nesterov": Parameter(bool, True),
            "reset_momentum": Parameter(bool, False),
            "warmup_steps": WARMUP,
        },
    ),
    "elastic_averaging": Scheme(
        "Workers train alone, tied elastically to a centre which all keep, every `period` steps (synchronous EASGD). "
        "alpha is beta / workers unless given (-1).",
        _ALL,
        {
            "period": PERIOD,
            "beta": Parameter(float, 0.9, minimum=0.0, maximum=1.0),
            "alpha": Parameter(float, -1.0, minimum=-1.0, maximum=1.0),
            "warmup_steps": WARMUP,
        },
    ),
    "gossip": Scheme(
        "Workers average with their neighbours only, every `period` steps; no server, no all-reduce.",
        _ALL,
        {
            "topology": Parameter(str, "ring", choices=("ring", "exponential", "complete")),
            "period": PERIOD_OF_ONE,
        },
    ),
    "random_gossip": Scheme(
        "Random pairs of workers average their models while they compute; the seed says who with whom (AD-PSGD).",
        _ALL,
        {"period": PERIOD_OF_ONE},
    ),
    "push_sum": Scheme(
        "Workers send one way only, to `n_peers` others, and weigh what they hold (stochastic gradient push).",
        _ALL,
        {"n_peers": Parameter(int, 1, minimum=1, maximum=16), "period": PERIOD_OF_ONE},
    ),
    "gosgd": Scheme(
        "After a step a worker sends its model to a random other one, with this probability.",
        _ALL,
        {"probability": Parameter(float, 0.1, minimum=0.0, maximum=1.0)},
    ),
    "outer_products": Scheme(
        "All-reduce in which large linear layers' gradients travel as the inputs and errors that they are products of, "
        "where this is less. For wide layers and small batches.",
        _ALL,
    ),
    "sharded": Scheme("All-reduce in which every worker holds only its part of the optimiser's state (ZeRO-1).", _ALL),
    "ensemble": Scheme(
        "Every worker trains a model of its own, on all examples or its part; predictions are means, or votes.",
        _ALL,
        {
            "examples": Parameter(str, "all", choices=("all", "parts")),
            "combine": Parameter(str, "mean", choices=("mean", "vote")),
        },
        is_resizable=False,
    ),
    "fully_sharded": Scheme(
        "Weights, gradients and optimiser are all divided over the workers; layers are gathered for use (FSDP2).",
        _ALL,
    ),
    "tensor": Scheme(
        "Pairs of linear layers are divided inside: each worker computes some of their columns.",
        _ALL,
        is_resizable=False,
    ),
    "hybrid": Scheme(
        "Replicas of `parts` workers, which divide linear layers among them; weights are divided over replicas, too.",
        _ALL,
        {"parts": Parameter(int, 2, minimum=1, maximum=64)},
        is_resizable=False,
    ),
    "pipeline": Scheme(
        "Each worker holds some layers of a torch.nn.Sequential; micro-batches pass through all of them. Schedules "
        "after 1f1b give each worker several stretches of layers, which leaves it idle for less of the time. "
        "`replicas`: so many rows of workers divide the batch.",
        _ALL,
        {
            "schedule": Parameter(str, "1f1b", choices=SCHEDULES),
            "micro_batches": Parameter(int, 4, minimum=1, maximum=1024),
            "stages_per_worker": Parameter(int, 2, minimum=1, maximum=64),
            "replicas": Parameter(int, 1, minimum=1, maximum=64),
        },
    ),
    "single": Scheme("One process.", _ALL, most_workers=1),
    "main_worker": Scheme(
        "The naive scheme, to compare with: one worker takes in all gradients and gives out the weights.", _ALL
    ),
}

OTHER_NAMES: Mapping[str, Preset] = {
    "elephas-synchronous": Preset("averaging"),
    "synchronous-easgd": Preset("elastic_averaging", aliases={"tau": "period"}),
    "cntk-block-momentum": Preset("block_momentum", {"reset_momentum": True}),
    "local-sgd": Preset("averaging"),
    "d-psgd": Preset("gossip"),
    "ad-psgd": Preset("random_gossip"),
    "sgp": Preset("push_sum", aliases={"peers_per_itr": "n_peers"}),
    "fsdp": Preset("fully_sharded"),
    "zero-3": Preset("fully_sharded"),
    "megatron": Preset("tensor"),
    "zero-1": Preset("sharded"),
    "bigdl": Preset("sharded"),
    "dist-keras-averaging": Preset("averaging"),
    "dist-keras-ensemble": Preset("ensemble", {"examples": "parts"}),
    "dist-keras-single": Preset("single"),
    "sequential": Preset("single"),
    "gpipe": Preset("pipeline", {"schedule": "gpipe"}),
    "mariana": Preset("pipeline", {"replicas": 2}),
    "zero-bubble": Preset("pipeline", {"schedule": "zero_bubble_v"}),
    "dualpipe": Preset("pipeline", {"schedule": "dualpipe_v", "micro_batches": 16}),
    "horovod": Preset("all_reduce"),
    "horovod-adasum": Preset("all_reduce", {"reduction": "adasum"}),
    "project-adam": Preset("outer_products"),
    "power-sgd": Preset("all_reduce", {"compression": "power_sgd"}),
    "cntk-1bit": Preset("all_reduce", {"compression": "one_bit"}),
}

# parameters that mean something only beside a value of another one
ONLY_WITH: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "dc_decay": ("staleness_scaling", ("dc_adaptive",)),
    "dc_strength": ("staleness_scaling", ("dc", "dc_adaptive")),
    "stages_per_worker": ("schedule", IN_TURN),
    "rank": ("compression", ("power_sgd",)),
    "plain_steps": ("compression", (*COMPRESSIONS[1:], "power_sgd")),
    "threshold": ("compression", ("two_bit",)),
    "density": ("compression", ("top_k", "random_k")),
    "levels": ("compression", ("dithering",)),
    "partition": ("compression", ("dithering",)),
    "norm": ("compression", ("dithering",)),
    "feedback": ("compression", ("dithering",)),
    "reduction": ("compression", ("none",)),
}
