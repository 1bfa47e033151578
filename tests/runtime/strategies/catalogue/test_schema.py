# SPDX-License-Identifier: Apache-2.0
"""A strategy is refused at once when it means nothing, with the field and the remedy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.strategies.catalogue.schema import PRESETS, STRATEGIES, parse
from mlhub.wire.launch import SyncMode


@pytest.mark.parametrize("name", [*STRATEGIES, *PRESETS])
def test_every_strategy_and_preset_has_working_defaults(name: str) -> None:
    spec = parse({"name": name})
    assert spec.name in STRATEGIES
    assert parse({"name": name}, n_workers=spec.declaration.max_workers or 4) == spec
    assert parse(spec.to_json()) == spec


def test_nothing_declared_leaves_the_choice_to_the_platform() -> None:
    assert parse({}).mode is None
    assert parse(None).name == "auto"


def test_a_strategy_says_what_it_runs_on() -> None:
    assert parse({"name": "ssp"}).mode is SyncMode.PARAMETER_SERVER
    assert parse({"name": "gossip"}).mode is SyncMode.ALL_REDUCE
    assert parse({"name": "asp"}).declaration.survives
    assert not parse({"name": "bsp"}).declaration.survives


def test_presets_speak_their_own_words() -> None:
    assert parse({"name": "aeasgd", "communication_window": 7}).parameters["window"] == 7
    assert parse({"name": "aeasgd", "rho": 2.5, "learning_rate": 0.2}).parameters["alpha"] == 0.5
    assert parse({"name": "eamsgd", "rho": 2.0}).parameters["alpha"] == 0.2
    assert parse({"name": "dc-asgd", "lambda": 2}).parameters["dc_strength"] == 2.0
    assert parse({"name": "rudra-softsync", "s": 3}).parameters["group"] == 3


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"name": "telepathy"}, "strategy.name"),
        ({"name": ["ssp"]}, "strategy.name"),
        ("ssp", "strategy"),
        ({"name": "bsp", "staleness": 3}, "strategy.staleness"),
        ({"name": "ssp", "staleness": -1}, "strategy.staleness"),
        ({"name": "ssp", "staleness": 1.5}, "strategy.staleness"),
        ({"name": "ssp", "staleness": True}, "strategy.staleness"),
        ({"name": "ssp", "staleness": 0, "staleness_scaling": "zhang"}, "strategy.staleness_scaling"),
        ({"name": "bounded_delay", "max_outstanding": -1}, "strategy.max_outstanding"),
        ({"name": "bounded_delay", "staleness_scaling": "dc"}, "strategy.staleness_scaling"),
        ({"name": "model_averaging", "period": 0}, "strategy.period"),
        ({"name": "easgd", "alpha": 0}, "strategy.alpha"),
        ({"name": "easgd", "rho": 5.0}, "strategy.rho"),
        ({"name": "aeasgd", "rho": 50.0}, "strategy.alpha"),
        ({"name": "aeasgd", "rho": "5"}, "strategy.rho"),
        ({"name": "aeasgd", "rho": 5.0, "alpha": 0.5}, "strategy.alpha"),
        ({"name": "elastic_averaging", "alpha": 0.5}, "max_workers"),
        ({"name": "elastic_averaging", "alpha": -0.5}, "strategy.alpha"),
        ({"name": "elastic_averaging", "alpha": 0.1, "beta": 0.5}, "strategy.beta"),
        ({"name": "elastic_averaging", "beta": 1.1}, "strategy.beta"),
        ({"name": "easgd", "alpha": 1.1}, "strategy.alpha"),
        ({"name": "easgd", "alpha": float("nan")}, "strategy.alpha"),
        ({"name": "asp", "dc_strength": 0.1}, "strategy.dc_strength"),
        ({"name": "dc-asgd", "dc_decay": 0.9}, "strategy.dc_decay"),
        ({"name": "dc-asgd-a", "m": 1.0}, "strategy.dc_decay"),
        ({"name": "asp", "compression": "zip"}, "strategy.compression"),
        ({"name": "asp", "levels": 3}, "strategy.levels"),
        ({"name": "bsp", "compression": "dithering", "levels": 128}, "strategy.levels"),
        ({"name": "bsp", "compression": "one_bit", "feedback": False}, "strategy.feedback"),
        ({"name": "asp", "threshold": 0.1}, "strategy.threshold"),
        ({"name": "bsp", "compression": "two_bit", "threshold": 0}, "strategy.threshold"),
        ({"name": "bsp", "compression": "two_bit", "density": 0.1}, "strategy.density"),
        ({"name": "bsp", "compression": "top_k", "density": 1.1}, "strategy.density"),
        ({"name": "easgd", "compression": "fp16"}, "strategy.compression"),
        ({"name": "asp", "staleness_scaling": "magic"}, "strategy.staleness_scaling"),
        ({"name": "downpour", "n_push": 2, "n_fetch": 3}, "strategy.n_fetch"),
        ({"name": "block_momentum", "momentum": -0.5}, "strategy.momentum"),
        ({"name": "all_reduce", "compression": "zip"}, "strategy.compression"),
        ({"name": "all_reduce", "compression": "power_sgd", "plain_steps": 1}, "strategy.plain_steps"),
        ({"name": "all_reduce", "plain_steps": 5}, "strategy.plain_steps"),
        ({"name": "softsync", "block": True, "warmup_steps": 5}, "strategy.warmup_steps"),
        ({"name": "bsp", "warmup_steps": 5}, "strategy.warmup_steps"),
        ({"name": "all_reduce", "rank": 2}, "strategy.rank"),
        ({"name": "all_reduce", "compression": "one_bit", "density": 0.1}, "strategy.density"),
        ({"name": "all_reduce", "compression": "one_bit", "reduction": "adasum"}, "strategy.reduction"),
        ({"name": "pipeline", "stages_per_worker": 3}, "strategy.stages_per_worker"),
        ({"name": "pipeline", "schedule": "zero_bubble_v", "stages_per_worker": 3}, "strategy.stages_per_worker"),
        ({"name": "pipeline", "schedule": "interleaved_1f1b", "micro_batches": 9}, "strategy.micro_batches"),
        ({"name": "pipeline", "schedule": "dualpipe_v", "micro_batches": 6}, "max_workers"),
        ({"name": "single"}, "max_workers"),
        ({"name": "ensemble", "combine": "guess"}, "strategy.combine"),
        ({"name": "gosgd", "probability": 1.5}, "strategy.probability"),
        ({"name": "push_sum", "n_peers": 0}, "strategy.n_peers"),
        ({"name": "softsync", "group": 5}, "strategy.group"),
        ({"name": "k_of_n", "k": 5}, "strategy.k"),
        ({"name": "aeasgd", "communication_window": 7, "window": 8}, "strategy"),
        ({"name": "elephas-asynchronous", "frequency": "batch"}, "strategy.frequency"),
    ],
)
def test_what_means_nothing_is_refused_with_field_and_remedy(raw: object, field: str) -> None:
    with pytest.raises(BadInputError) as refused:
        parse(raw, n_workers=4)  # type: ignore[arg-type]
    assert refused.value.field == field
    assert refused.value.remedy


def test_accepting_a_job_needs_no_torch() -> None:
    modules = "mlhub.runtime.strategies.catalogue.schema, mlhub.runtime.model.hyperparameters"
    code = f"import sys, {modules}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
