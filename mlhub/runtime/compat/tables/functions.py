# SPDX-License-Identifier: Apache-2.0
"""Functions that servers run on a table's rows where they lie, so that only their results travel (Angel's psf).

By name, from this list: nothing that a script sends is ever run. A new one is a line in FUNCTIONS, in the image.
part: on each server's rows, shape (n, width), with ids of shape (n,); merge: of what all servers answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

Answer = tuple[Tensor, ...]
Part = Callable[[Tensor, Tensor, Mapping[str, float], Tensor | None], Answer]


@dataclass(frozen=True)
class TableFunction:
    """options: names with defaults; None: must be given. takes_other: another table, divided alike."""

    part: Part
    merge: Callable[[Sequence[Answer], Mapping[str, float]], Any]
    options: Mapping[str, float | None]
    takes_other: bool = False

    def checked(self, name: str, given: Mapping[str, Any]) -> dict[str, float]:
        """Raises ValueError."""
        values = {**self.options, **given}
        missing = [key for key, value in values.items() if value is None]
        if given.keys() - self.options.keys() or missing:
            raise ValueError(f"{name} takes {', '.join(self.options) or 'no options'}, not {dict(given)}.")
        return {key: float(value) for key, value in values.items() if value is not None}


def _sum(rows: Tensor, ids: Tensor, given: Mapping[str, float], other: Tensor | None) -> Answer:  # noqa: ARG001
    return (rows.double().sum().reshape(1),)


def _count(rows: Tensor, ids: Tensor, given: Mapping[str, float], other: Tensor | None) -> Answer:  # noqa: ARG001
    return (rows.count_nonzero().double().reshape(1),)


def _powers(rows: Tensor, ids: Tensor, given: Mapping[str, float], other: Tensor | None) -> Answer:  # noqa: ARG001
    return (rows.double().abs().pow(given["p"]).sum().reshape(1),)


def _least(rows: Tensor, ids: Tensor, given: Mapping[str, float], other: Tensor | None) -> Answer:  # noqa: ARG001
    return (rows.double().amin().reshape(1) if rows.numel() else torch.empty(0, dtype=torch.float64),)


def _most(rows: Tensor, ids: Tensor, given: Mapping[str, float], other: Tensor | None) -> Answer:  # noqa: ARG001
    return (rows.double().amax().reshape(1) if rows.numel() else torch.empty(0, dtype=torch.float64),)


def _top(rows: Tensor, ids: Tensor, given: Mapping[str, float], other: Tensor | None) -> Answer:  # noqa: ARG001
    """Returns the k largest values of the first column, and their ids."""
    found = torch.topk(rows[:, 0].double(), min(int(given["k"]), rows.shape[0]))
    return found.values, ids[found.indices]


def _dot(rows: Tensor, ids: Tensor, given: Mapping[str, float], other: Tensor | None) -> Answer:  # noqa: ARG001
    assert other is not None
    return ((rows.double() * other.double()).sum().reshape(1),)


def _scale(rows: Tensor, ids: Tensor, given: Mapping[str, float], other: Tensor | None) -> Answer:  # noqa: ARG001
    rows *= given["factor"]
    return ()


def _fill(rows: Tensor, ids: Tensor, given: Mapping[str, float], other: Tensor | None) -> Answer:  # noqa: ARG001
    rows.fill_(given["value"])
    return ()


def _axpy(rows: Tensor, ids: Tensor, given: Mapping[str, float], other: Tensor | None) -> Answer:  # noqa: ARG001
    assert other is not None
    rows.add_(other, alpha=given["factor"])
    return ()


def _summed(answers: Sequence[Answer], given: Mapping[str, float]) -> float:  # noqa: ARG001
    return float(sum(float(answer[0]) for answer in answers))


def _rooted(answers: Sequence[Answer], given: Mapping[str, float]) -> float:
    return float(_summed(answers, given) ** (1.0 / given["p"]))


def _smallest(answers: Sequence[Answer], given: Mapping[str, float]) -> float:  # noqa: ARG001
    return min(float(value) for answer in answers for value in answer[0])


def _largest(answers: Sequence[Answer], given: Mapping[str, float]) -> float:  # noqa: ARG001
    return max(float(value) for answer in answers for value in answer[0])


def _best(answers: Sequence[Answer], given: Mapping[str, float]) -> tuple[Tensor, Tensor]:
    """Values, largest first, and their rows."""
    values, ids = torch.cat([a[0] for a in answers]), torch.cat([a[1] for a in answers])
    found = torch.topk(values, min(int(given["k"]), values.numel()))
    return found.values, ids[found.indices]


def _nothing(answers: Sequence[Answer], given: Mapping[str, float]) -> None:  # noqa: ARG001
    return None


FUNCTIONS: Mapping[str, TableFunction] = {
    "sum": TableFunction(_sum, _summed, {}),
    "min": TableFunction(_least, _smallest, {}),
    "max": TableFunction(_most, _largest, {}),
    "norm": TableFunction(_powers, _rooted, {"p": 2.0}),
    "count_nonzero": TableFunction(_count, _summed, {}),
    "top_k": TableFunction(_top, _best, {"k": None}),
    "dot": TableFunction(_dot, _summed, {}, takes_other=True),
    "scale": TableFunction(_scale, _nothing, {"factor": None}),
    "fill": TableFunction(_fill, _nothing, {"value": None}),
    "axpy": TableFunction(_axpy, _nothing, {"factor": 1.0}, takes_other=True),
}


def function(name: str) -> TableFunction:
    """Raises ValueError for a name that is not in the list."""
    if name not in FUNCTIONS:
        raise ValueError(f"There is no table function {name!r}; known: {', '.join(FUNCTIONS)}.")
    return FUNCTIONS[name]
