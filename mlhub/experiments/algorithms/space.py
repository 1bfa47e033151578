# SPDX-License-Identifier: Apache-2.0
"""The search space: hyperparameters by name, each with the values that a trial may have."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass

Value = float | int | str | bool
GRID_POINTS = 5  # of a range, where the grid is not given its own number
MOST_LISTED = 10_000  # points of a finite space that is searched without repetition


@dataclass(frozen=True)
class Options:
    """One of several values that are named."""

    values: tuple[Value, ...]

    @property
    def n_values(self) -> int:
        return len(self.values)

    def sample(self, rng: random.Random) -> Value:
        return self.values[rng.randrange(len(self.values))]

    def grid(self) -> tuple[Value, ...]:
        return self.values


@dataclass(frozen=True)
class RealRange:
    """A real number from low to high; is_log: uniform in its logarithm. points: of the grid."""

    low: float
    high: float
    is_log: bool = False
    points: int = GRID_POINTS

    @property
    def n_values(self) -> int | None:
        """None: infinitely many."""
        return None

    def sample(self, rng: random.Random) -> Value:
        return self.at(rng.random())

    def grid(self) -> tuple[Value, ...]:
        return tuple(self.at(i / (self.points - 1)) for i in range(self.points))

    def at(self, share: float) -> float:
        """The value at this share, in [0, 1], of the way from low to high."""
        if self.is_log:
            found = math.exp(math.log(self.low) + share * (math.log(self.high) - math.log(self.low)))
        else:
            found = self.low + share * (self.high - self.low)
        return min(self.high, max(self.low, found))


@dataclass(frozen=True)
class IntegerRange:
    """A whole number from low to high, both included; is_log: uniform in its logarithm. points: of the grid."""

    low: int
    high: int
    is_log: bool = False
    points: int = GRID_POINTS

    @property
    def n_values(self) -> int:
        return self.high - self.low + 1

    def sample(self, rng: random.Random) -> Value:
        if not self.is_log:
            return rng.randint(self.low, self.high)
        reals = RealRange(self.low - 0.5, self.high + 0.5, is_log=True)
        return self._rounded(reals.at(rng.random()))

    def grid(self) -> tuple[Value, ...]:
        if self.n_values <= self.points:
            return tuple(range(self.low, self.high + 1))
        reals = RealRange(self.low, self.high, is_log=self.is_log, points=self.points)
        return tuple(dict.fromkeys(self._rounded(float(value)) for value in reals.grid()))

    def _rounded(self, value: float) -> int:
        return min(self.high, max(self.low, round(value)))


ValueRange = Options | RealRange | IntegerRange


@dataclass(frozen=True)
class SearchSpace:
    """parameters: the values of each hyperparameter, by its name."""

    parameters: Mapping[str, ValueRange]

    @property
    def n_points(self) -> int | None:
        """How many there are; None where a parameter has infinitely many values."""
        n = 1
        for values in self.parameters.values():
            if values.n_values is None:
                return None
            n *= values.n_values
        return n

    @property
    def n_grid_points(self) -> int:
        return math.prod(len(values.grid()) for values in self.parameters.values())

    def grid_point(self, number: int) -> dict[str, Value]:
        """The point of this number, from 0 on, in the grid; the last parameter changes fastest.

        Raises IndexError for a number past the end.
        """
        if not 0 <= number < self.n_grid_points:
            raise IndexError(number)
        point: dict[str, Value] = {}
        for name, values in reversed(list(self.parameters.items())):
            number, index = divmod(number, len(values.grid()))
            point[name] = values.grid()[index]
        return {name: point[name] for name in self.parameters}

    def sample(self, number: int, *, seed: int) -> dict[str, Value] | None:
        """The random point of this trial: the same for the same number and seed, on every machine.

        A finite space of at most MOST_LISTED points is drawn from without repetition: None when all were drawn.
        """
        n_points = self.n_points
        if n_points is not None and n_points <= MOST_LISTED:
            if number >= n_points:
                return None
            order = list(range(n_points))
            random.Random(f"order:{seed}").shuffle(order)
            return self._listed(order[number])
        rng = random.Random(f"{seed}:{number}")
        return {name: values.sample(rng) for name, values in self.parameters.items()}

    def _listed(self, number: int) -> dict[str, Value]:
        """The point of this number among all of a finite space."""
        point: dict[str, Value] = {}
        for name, values in self.parameters.items():
            number, index = divmod(number, values.n_values or 1)
            point[name] = values.low + index if isinstance(values, IntegerRange) else values.grid()[index]
        return point
