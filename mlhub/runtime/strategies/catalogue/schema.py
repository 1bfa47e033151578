# SPDX-License-Identifier: Apache-2.0
"""Validates the strategy of a job: its name, its parameters with types and bounds, and presets.

    {}                                            what MLHub chooses: all-reduce, or BSP on parameter servers
    {"name": "ssp", "staleness": 3}               a strategy with parameters
    {"name": "aeasgd", "rho": 5.0}                a preset: another framework's name and defaults

Standard library only: the API validates jobs with it, without torch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.strategies.catalogue.all_reduce import (
    INTERLEAVED,
    ONLY_WITH,
    PRESETS_WITHOUT_SERVERS,
    WITHOUT_SERVERS,
)
from mlhub.runtime.strategies.catalogue.declarations import Parameter, Preset, StrategyDeclaration
from mlhub.runtime.strategies.catalogue.parameter_server import PRESETS_WITH_SERVERS, WITH_SERVERS
from mlhub.wire.launch import SyncMode


@dataclass(frozen=True)
class StrategySpec:
    """A validated strategy: every parameter of its declaration has a value."""

    name: str
    parameters: Mapping[str, Any]

    @property
    def declaration(self) -> StrategyDeclaration:
        return STRATEGIES[self.name]

    @property
    def mode(self) -> SyncMode | None:
        return self.declaration.mode

    @property
    def needs_one_shard(self) -> bool:
        """Whether the first shard must hold the whole model.

        Workers that wait for some others must wait for the same ones everywhere: shards that chose independently
        would let two workers wait for each other.
        """
        return self.name == "k_of_n" or bool(self.parameters.get("block"))

    @property
    def max_workers(self) -> int | None:
        """The upper bound on workers: the strategy's own, or one that follows from a parameter."""
        values = self.parameters
        if self.name == "elastic_averaging" and values["alpha"] > 0:
            return max_elastic_workers(values["alpha"])
        if values.get("schedule") == "dualpipe_v":
            return max(1, int(values["micro_batches"]) // 2) * int(values["replicas"])
        return self.declaration.max_workers

    def to_json(self) -> dict[str, Any]:
        """The form that parse() reads."""
        return {"name": self.name, **self.parameters}


AUTO = "auto"
COUNTED = ("group", "k")  # parameters that count workers: a gang must have as many
STRATEGIES: Mapping[str, StrategyDeclaration] = {
    AUTO: StrategyDeclaration("MLHub chooses between all-reduce and synchronous parameter servers.", None, ""),
    **WITH_SERVERS,
    **WITHOUT_SERVERS,
}
PRESETS: Mapping[str, Preset] = {**PRESETS_WITH_SERVERS, **PRESETS_WITHOUT_SERVERS}


def parse(raw: Mapping[str, Any] | None, *, n_workers: int | None = None) -> StrategySpec:
    """Validates a strategy. n_workers: if known, the bounds that depend on it are checked too.

    Raises BadInputError (field "strategy.<parameter>", with a remedy) for an unknown name or parameter, a value of
    another type or out of bounds, and combinations without a meaning.
    """
    if raw is not None and not isinstance(raw, Mapping):
        raise _bad("strategy", f"A strategy is an object, not {type(raw).__name__}.", 'Give {"name": "ssp"}, say.')
    given = dict(raw or {})
    name = given.pop("name", AUTO)
    if not isinstance(name, str):
        raise _bad("strategy.name", f"The name is {name!r}.", "Give a word, such as asp.")
    if name in PRESETS:
        preset = PRESETS[name]
        given = _with_products(name, given, preset)
        ours = {preset.aliases.get(key, key): value for key, value in given.items()}
        if len(ours) < len(given):
            raise _bad("strategy", f"{name} was given one parameter by two names.", "Give it once.")
        name, given = preset.strategy, {**preset.given, **ours}
    if name not in STRATEGIES:
        known = ", ".join([*STRATEGIES, *PRESETS])
        raise _bad("strategy.name", f"There is no strategy {name!r}.", f"Known: {known}.")
    declaration = STRATEGIES[name]
    for key in given:
        if key not in declaration.parameters:
            has = ", ".join(declaration.parameters) or "no parameters"
            raise _bad(f"strategy.{key}", f"{name} has no parameter {key}.", f"It has {has}.")
    values = {key: _value(key, given.get(key, p.default), p) for key, p in declaration.parameters.items()}
    spec = StrategySpec(name, values)
    _check_combination(spec)
    if n_workers is not None:
        _check_workers(spec, n_workers)
    return spec


def max_elastic_workers(alpha: float) -> int:
    """The most workers with which an elastic centre is stable.

    The distance from the centre to the mean of n workers changes by the factor 1 - alpha - n alpha an exchange.


    Source: Zhang, Choromanska and LeCun, NIPS '15, who bound beta = n alpha. Deviation: alpha is bounded with it.
    """
    return max(1, math.floor(2.0 / alpha + 1e-9) - 1)


def stages_per_worker(spec: StrategySpec) -> int:
    """The stages that each worker of a pipeline of several workers holds."""
    schedule = spec.parameters["schedule"]
    return (
        int(spec.parameters["stages_per_worker"])
        if schedule in INTERLEAVED
        else 1
        if schedule in ("gpipe", "1f1b")
        else 2
    )


def micro_batches_fit(schedule: str, *, n_workers: int, n: int) -> bool:
    """Whether torch's schedule takes n micro-batches: DualPipeV needs one a stage at least, interleaved schedules whole
    rounds."""
    if n_workers == 1:
        return True
    if schedule == "dualpipe_v":
        return n >= 2 * n_workers
    return schedule not in INTERLEAVED or n % max(1, n // n_workers) == 0


def _with_products(name: str, given: Mapping[str, Any], preset: Preset) -> dict[str, Any]:
    """Replaces the factors of a preset by the parameter that is their product."""
    out = dict(given)
    for ours, factors in preset.products.items():
        factors_given = {key: out.pop(key) for key in factors if key in out}
        if factors_given and ours in out:
            raise _bad(
                f"strategy.{ours}", f"{name} was given {ours} and {', '.join(factors_given)}.", "Give one or the other."
            )
        for key, value in factors_given.items():
            _value(key, value, Parameter(float, 0.0, minimum=0.0, above_minimum=True))
        if factors_given:
            out[ours] = math.prod(float(factors_given.get(key, default)) for key, default in factors.items())
    return out


def _value(key: str, value: Any, parameter: Parameter) -> Any:
    kind: type[Any] = parameter.kind
    name = f"strategy.{key}"
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise _bad(name, f"{key} is {value!r}.", f"Give {_article(kind)}.")
    if parameter.choices and value not in parameter.choices:
        raise _bad(name, f"{key} is {value!r}.", f"One of {', '.join(parameter.choices)}.")
    low, high = parameter.minimum, parameter.maximum
    if low is not None and (not value >= low or (parameter.above_minimum and value == low)):
        raise _bad(
            name, f"{key} is {value}.", f"Give {'more than' if parameter.above_minimum else 'at least'} {low:.12g}."
        )
    if high is not None and not value <= high:
        raise _bad(name, f"{key} is {value}.", f"Give at most {high:.12g}.")
    return value


def _check_combination(spec: StrategySpec) -> None:
    values = spec.parameters
    for key, (other, choices) in ONLY_WITH.items():
        own = spec.declaration.parameters.get(key)
        if own is not None and values[key] != own.default and values[other] not in choices:
            loss_sum = f'Give "{other}": "{choices[0]}" too, or leave {key} out.'
            raise _bad(f"strategy.{key}", f"{key} means nothing when {other} is {values[other]}.", loss_sum)
    if spec.name == "downpour" and values["n_fetch"] > values["n_push"] and values["n_fetch"] % values["n_push"]:
        raise _bad("strategy.n_fetch", "Fetches must fall on pushes.", "Make n_fetch a multiple of n_push.")
    if spec.name == "downpour" and values["n_push"] > values["n_fetch"] and values["n_push"] % values["n_fetch"]:
        raise _bad("strategy.n_push", "Pushes must fall on fetches.", "Make n_push a multiple of n_fetch.")
    if spec.name == "elastic_averaging" and -1.0 < values["alpha"] < 0.0:
        raise _bad("strategy.alpha", f"alpha is {values['alpha']}.", "Give 0 to 1, or leave it out.")
    if spec.name == "elastic_averaging" and values["alpha"] >= 0.0 and values["beta"] != 0.9:
        raise _bad("strategy.beta", "beta is workers times alpha, and alpha was given.", "Give one or the other.")
    if values.get("block") and values["warmup_steps"]:
        raise _bad("strategy.warmup_steps", "Workers that wait for groups have none of their own.", "Leave it out.")
    if values.get("compression") == "power_sgd" and values["plain_steps"] in (0, 1):
        raise _bad("strategy.plain_steps", "power_sgd begins with two plain steps at least.", "Give 2 or more.")
    if spec.name == "block_momentum" and -1.0 < values["momentum"] < 0.0:
        raise _bad("strategy.momentum", f"momentum is {values['momentum']}.", "Give 0 to 0.999, or leave it out.")
    if values.get("staleness_scaling", "none") != "none" and spec.name == "ssp" and not values["staleness"]:
        raise _bad("strategy.staleness_scaling", "With staleness 0 nothing is stale.", "Leave it out.")


def _check_workers(spec: StrategySpec, n_workers: int) -> None:
    most = spec.max_workers
    if most is not None and n_workers > most:
        raise _bad("max_workers", f"{spec.name} has {most} workers at most, not {n_workers}.", f"Give {most}.")
    n = spec.parameters.get("micro_batches", 1)
    row = max(1, n_workers // int(spec.parameters.get("replicas", 1)))
    if not micro_batches_fit(spec.parameters.get("schedule", ""), n_workers=row, n=n):
        raise _bad(
            "strategy.micro_batches",
            f"{n} micro-batches are no whole rounds over {row} workers, as {spec.parameters['schedule']} needs.",
            f"Give a multiple of {row}, such as {row * -(-n // row)}.",
        )
    for key in COUNTED:
        if spec.parameters.get(key, 0) > n_workers:
            raise _bad(
                f"strategy.{key}",
                f"{key} is {spec.parameters[key]}, and there are {n_workers} workers.",
                f"Give at most {n_workers}, or ask for more workers.",
            )


def _article(kind: type[Any]) -> str:
    return {int: "a whole number", float: "a number", bool: "true or false", str: "a name"}[kind]


def _bad(field: str, message: str, remedy: str) -> BadInputError:
    return BadInputError(message, field=field, remedy=remedy, code="invalid_strategy")
