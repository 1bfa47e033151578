# SPDX-License-Identifier: Apache-2.0
"""The strategies whose workers exchange with each other only, and their presets."""

from __future__ import annotations

from collections.abc import Mapping

from mlhub.runtime.strategies.catalogue.declarations import (
    COMPRESSION,
    COMPRESSIONS,
    PERIOD,
    WARMUP,
    Parameter,
    Preset,
    StrategyDeclaration,
)
from mlhub.wire.launch import SyncMode

_ALL = SyncMode.ALL_REDUCE
INTERLEAVED = ("interleaved_1f1b", "interleaved_zero_bubble")
SCHEDULES = ("gpipe", "1f1b", *INTERLEAVED, "zero_bubble_v", "dualpipe_v")
PERIOD_OF_ONE = Parameter(int, 1, minimum=1, maximum=100_000)
WITHOUT_SERVERS: Mapping[str, StrategyDeclaration] = {
    "all_reduce": StrategyDeclaration(
        "Every worker holds the model; gradients are averaged, or added where they differ (adasum). Compressed ones "
        "are sent uncompressed in the first plain_steps: none, and 10 of power_sgd, unless given (-1).",
        _ALL,
        "synchronous.all_reduce:AllReduce",
        {
            **COMPRESSION,
            "compression": Parameter(str, "none", choices=(*COMPRESSIONS, "power_sgd")),
            "rank": Parameter(int, 1, minimum=1, maximum=1024),
            "plain_steps": Parameter(int, -1, minimum=-1, maximum=1_000_000),
            "reduction": Parameter(str, "mean", choices=("mean", "adasum")),
        },
    ),
    "model_averaging": StrategyDeclaration(
        "Workers train alone and average their models every `period` steps, after `warmup_steps` of all-reduce; with "
        "average_state also the state of their optimisers.",
        _ALL,
        "averaging.model_averaging:ModelAveraging",
        {"period": PERIOD, "warmup_steps": WARMUP, "average_state": Parameter(bool, False)},
    ),
    "block_momentum": StrategyDeclaration(
        "Averaging with momentum from block to block (BMUF); momentum 1 - 1/workers unless given (-1).",
        _ALL,
        "averaging.block_momentum:BlockMomentumAveraging",
        {
            "period": PERIOD,
            "momentum": Parameter(float, -1.0, minimum=-1.0, maximum=0.999),
            "rate": Parameter(float, 1.0, minimum=0.0, above_minimum=True),
            "nesterov": Parameter(bool, True),
            "reset_momentum": Parameter(bool, False),
            "warmup_steps": WARMUP,
        },
    ),
    "elastic_averaging": StrategyDeclaration(
        "Workers train separately, pulled towards a common centre every `period` steps (synchronous EASGD). "
        "alpha is beta / workers unless given (-1).",
        _ALL,
        "averaging.elastic_averaging:ElasticAveraging",
        {
            "period": PERIOD,
            "beta": Parameter(float, 0.9, minimum=0.0, maximum=1.0),
            "alpha": Parameter(float, -1.0, minimum=-1.0, maximum=1.0),
            "warmup_steps": WARMUP,
        },
    ),
    "gossip": StrategyDeclaration(
        "Workers average with their neighbours only, every `period` steps; no server, no all-reduce.",
        _ALL,
        "decentralised.gossip:Gossip",
        {
            "topology": Parameter(str, "ring", choices=("ring", "exponential", "complete")),
            "period": PERIOD_OF_ONE,
        },
    ),
    "random_gossip": StrategyDeclaration(
        "Random pairs of workers average their models while they compute; pairs follow from the seed (AD-PSGD).",
        _ALL,
        "decentralised.gossip:RandomGossip",
        {"period": PERIOD_OF_ONE},
    ),
    "push_sum": StrategyDeclaration(
        "Workers send in one direction, to `n_peers` others, and weight what they hold (stochastic gradient push).",
        _ALL,
        "decentralised.push_sum:PushSumGossip",
        {"n_peers": Parameter(int, 1, minimum=1, maximum=16), "period": PERIOD_OF_ONE},
    ),
    "gosgd": StrategyDeclaration(
        "After a step a worker sends its model to a random other one, with this probability.",
        _ALL,
        "decentralised.gosgd:GoSgd",
        {"probability": Parameter(float, 0.1, minimum=0.0, maximum=1.0)},
    ),
    "sufficient_factor_broadcasting": StrategyDeclaration(
        "All-reduce in which large linear layers' gradients travel as the inputs and errors that they are products of, "
        "where this is less. For wide layers and small batches.",
        _ALL,
        "synchronous.sufficient_factor_broadcasting:SufficientFactorBroadcasting",
    ),
    "sharded": StrategyDeclaration(
        "All-reduce in which every worker holds only its part of the optimiser's state (ZeRO-1).",
        _ALL,
        "synchronous.sharded:Sharded",
    ),
    "ensemble": StrategyDeclaration(
        "Every worker trains a model of its own, on all examples or its part; predictions are means, or votes.",
        _ALL,
        "synchronous.ensemble:Ensemble",
        {
            "examples": Parameter(str, "all", choices=("all", "parts")),
            "combine": Parameter(str, "mean", choices=("mean", "vote")),
        },
        is_resizable=False,
    ),
    "fully_sharded": StrategyDeclaration(
        "Weights, gradients and optimiser are all divided over the workers; layers are gathered for use (FSDP2).",
        _ALL,
        "model_parallel.tensor_parallel:TensorParallel",
    ),
    "tensor": StrategyDeclaration(
        "Pairs of linear layers are divided inside: each worker computes some of their columns.",
        _ALL,
        "model_parallel.tensor_parallel:TensorParallel",
        is_resizable=False,
    ),
    "hybrid": StrategyDeclaration(
        "Replicas of `parts` workers, which divide linear layers among them; weights are divided over replicas, too.",
        _ALL,
        "model_parallel.tensor_parallel:TensorParallel",
        {"parts": Parameter(int, 2, minimum=1, maximum=64)},
        is_resizable=False,
    ),
    "pipeline": StrategyDeclaration(
        "Each worker holds some layers of a torch.nn.Sequential; micro-batches pass through all of them. Schedules "
        "after 1f1b give each worker several stretches of layers, which leaves it idle for less of the time. "
        "`replicas`: so many rows of workers divide the batch.",
        _ALL,
        "model_parallel.pipeline:PipelineParallel",
        {
            "schedule": Parameter(str, "1f1b", choices=SCHEDULES),
            "micro_batches": Parameter(int, 4, minimum=1, maximum=1024),
            "stages_per_worker": Parameter(int, 2, minimum=1, maximum=64),
            "replicas": Parameter(int, 1, minimum=1, maximum=64),
        },
    ),
    "single": StrategyDeclaration("One process.", _ALL, "synchronous.single:SingleProcess", max_workers=1),
    "main_worker": StrategyDeclaration(
        "The naive strategy, for comparison: one worker receives all gradients and sends out the weights.",
        _ALL,
        "synchronous.main_worker:MainWorker",
    ),
}

PRESETS_WITHOUT_SERVERS: Mapping[str, Preset] = {
    "elephas-synchronous": Preset("model_averaging"),
    "synchronous-easgd": Preset("elastic_averaging", aliases={"tau": "period"}),
    "cntk-block-momentum": Preset("block_momentum", {"reset_momentum": True}),
    "local-sgd": Preset("model_averaging"),
    "d-psgd": Preset("gossip"),
    "ad-psgd": Preset("random_gossip"),
    "sgp": Preset("push_sum", aliases={"peers_per_itr": "n_peers"}),
    "fsdp": Preset("fully_sharded"),
    "zero-3": Preset("fully_sharded"),
    "megatron": Preset("tensor"),
    "zero-1": Preset("sharded"),
    "bigdl": Preset("sharded"),
    "dist-keras-averaging": Preset("model_averaging"),
    "dist-keras-ensemble": Preset("ensemble", {"examples": "parts"}),
    "dist-keras-single": Preset("single"),
    "sequential": Preset("single"),
    "gpipe": Preset("pipeline", {"schedule": "gpipe"}),
    "mariana": Preset("pipeline", {"replicas": 2}),
    "zero-bubble": Preset("pipeline", {"schedule": "zero_bubble_v"}),
    "dualpipe": Preset("pipeline", {"schedule": "dualpipe_v", "micro_batches": 16}),
    "horovod": Preset("all_reduce"),
    "horovod-adasum": Preset("all_reduce", {"reduction": "adasum"}),
    "project-adam": Preset("sufficient_factor_broadcasting"),
    "power-sgd": Preset("all_reduce", {"compression": "power_sgd"}),
    "cntk-1bit": Preset("all_reduce", {"compression": "one_bit"}),
}

# parameters that apply only with some values of another parameter
ONLY_WITH: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "dc_decay": ("staleness_scaling", ("dc_adaptive",)),
    "dc_strength": ("staleness_scaling", ("dc", "dc_adaptive")),
    "stages_per_worker": ("schedule", INTERLEAVED),
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
