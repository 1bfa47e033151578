# SPDX-License-Identifier: Apache-2.0
"""How long a trial trains, and the rungs on the way: in epochs, or in the steps that a script reports.

A script's epochs are its own affair: few report them, and MLHub does not count them. It reports steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlhub.core.errors import InvalidInputError
from mlhub.experiments.algorithms.asha import rungs_of
from mlhub.experiments.algorithms.search import Algorithm
from mlhub.experiments.models import Unit
from mlhub.wire.report import metric_name

LENGTHS = ("min_epochs", "steps", "min_steps")  # of a request; what they say is in the study's rungs
LEAST_FIRST_RUNG = 16  # of ASHA: the first rung has 1 / 16 of the length or more where the least is left out


@dataclass(frozen=True)
class TrialLength:
    """most: of a whole trial. least: of the first rung; None: MLHub chooses it. Both in the unit."""

    unit: Unit
    most: int
    least: int | None

    @property
    def least_field(self) -> str:
        return f"min_{self.unit.value}"


def length_of(request: dict[str, Any], *, epochs: int, is_script: bool) -> TrialLength:
    """epochs: of the job. Raises InvalidInputError for steps of a model that MLHub trains, and for a script whose
    rungs nothing says."""
    steps = request.get("steps")
    if not is_script:
        for name in ("steps", "min_steps"):
            if request.get(name) is not None:
                raise InvalidInputError(
                    f"{name} is of scripts; MLHub's own loop counts epochs.",
                    field=name,
                    remedy="Give the job's epochs, and min_epochs.",
                )
        return TrialLength(Unit.EPOCHS, epochs, request.get("min_epochs"))
    for name in ("min_epochs", "max_epochs"):
        if request.get(name) is not None:
            raise InvalidInputError(
                f"A script is followed by its steps: it has no {name}.",
                field=name,
                remedy="Give steps and min_steps; max_trials and max_gpu_hours limit the study.",
            )
    if steps is None and request["algorithm"] == Algorithm.ASHA:
        raise InvalidInputError(
            "It is not said how far the script trains.",
            field="steps",
            remedy="Give the last step that it reports, or another algorithm, whose trials all train to their ends.",
        )
    if steps is None:
        if request.get("min_steps") is not None:
            raise InvalidInputError("min_steps goes with steps.", field="min_steps", remedy="Give steps, too.")
        return TrialLength(Unit.EPOCHS, epochs, None)  # one rung, at the end of the script
    return TrialLength(Unit.STEPS, steps, request.get("min_steps"))


def rungs_within(length: TrialLength, request: dict[str, Any]) -> list[int]:
    """request: with algorithm, eta and max_trials. Raises InvalidInputError for rungs of which none is the last."""
    most, unit = length.most, length.unit.value
    if request["algorithm"] != Algorithm.ASHA:
        if length.least is not None:
            raise InvalidInputError(
                f"{length.least_field} belongs to asha, and the algorithm is {request['algorithm']}.",
                field=length.least_field,
                remedy=f"Leave {length.least_field} out.",
            )
        return [most]
    eta = request["eta"]
    least = length.least or _first_rung(most, eta, request["max_trials"])
    if least >= most:
        raise InvalidInputError(
            f"Trials train for {most} {unit} at most, and the first rung is at {least}.",
            field=length.least_field,
            remedy=f"Give {length.least_field} less than a trial's {unit}, or another algorithm.",
        )
    found = rungs_of(least=least, most=most, eta=eta)
    needed = eta ** (len(found) - 1)
    if request["max_trials"] < needed:
        raise InvalidInputError(
            f"Of {request['max_trials']} trials none would reach the last of {len(found)} rungs "
            f"({', '.join(map(str, found))} {unit}): 1 of {needed} does.",
            field="max_trials",
            remedy=f"Give at least {needed} trials, a larger {length.least_field}, or a smaller eta.",
        )
    return list(found)


def script_metric(name: str) -> str:
    """As a job has it that a script reports: "loss" is train/loss."""
    found = metric_name(name)
    return found if "/" in found else f"train/{found}"[:250]


def _first_rung(most: int, eta: int, max_trials: int) -> int:
    """As early as 1 / 16 of the length, of which so many trials still bring one to the last rung."""
    n = 1
    while eta ** (n + 1) <= LEAST_FIRST_RUNG and most // eta ** (n + 1) >= 1:
        n += 1
    while n > 1 and eta ** (len(rungs_of(least=most // eta**n, most=most, eta=eta)) - 1) > max_trials:
        n -= 1
    return max(1, most // eta**n)
