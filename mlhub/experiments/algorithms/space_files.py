# SPDX-License-Identifier: Apache-2.0
"""Reading a search space from what people write, as YAML or JSON, with errors that name the field and the remedy.

learning_rate: {log_uniform: [1e-4, 0.1]}
width: {int: [16, 256], log: true}
dropout: {uniform: [0, 0.5]}
activation: {choice: [relu, tanh]}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mlhub.core.errors import InvalidInputError
from mlhub.experiments.algorithms.plain_yaml import load_plain_yaml
from mlhub.experiments.algorithms.space import GRID_POINTS, IntegerRange, Options, RealRange, SearchSpace, ValueRange

KINDS = ("choice", "uniform", "log_uniform", "int")
FORM = "Write it as {choice: [a, b]}, {uniform: [low, high]}, {log_uniform: [low, high]} or {int: [low, high]}."
MOST_PARAMETERS = 50
MOST_OPTIONS = 1000
MOST_POINTS = 1000  # of one range in a grid
LONGEST_NAME = 100


def read_space(given: Any) -> SearchSpace:
    """given: a mapping, or its YAML as text. Raises InvalidInputError with field space, or space.<name>."""
    if isinstance(given, str):
        given = _loaded(given)
    if not isinstance(given, Mapping):
        raise _error("The search space is no mapping of hyperparameters to their values.", remedy=FORM)
    if not given:
        raise _error("The search space has no points: it names no hyperparameter.", remedy="Name at least one. " + FORM)
    if len(given) > MOST_PARAMETERS:
        raise _error(f"The search space has {len(given)} hyperparameters.", remedy=f"Search at most {MOST_PARAMETERS}.")
    for name in given:
        if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME:
            raise _error(f"{_brief(name)} is no name of a hyperparameter.", remedy="Give a text.")
    return SearchSpace({name: _values(name, value) for name, value in given.items()})


def _loaded(text: str) -> Any:
    try:
        return load_plain_yaml(text)
    except InvalidInputError as error:
        error.field = f"space.{error.field}" if error.field else "space"
        error.remedy = error.remedy or FORM
        raise


def _values(name: str, given: Any) -> ValueRange:
    if not isinstance(given, Mapping):
        raise _error(f"{name} does not say which values it may have.", name, remedy=FORM)
    kinds = [kind for kind in KINDS if kind in given]
    extra = [_brief(key).strip("'") for key in given if key not in (*KINDS, "log", "points")]
    if len(kinds) != 1 or extra:
        what = f"has the unknown part {extra[0]}" if extra else f"has {len(kinds) or 'none'} of {', '.join(KINDS)}"
        raise _error(f"{name} {what}.", name, remedy=FORM)
    kind = kinds[0]
    if "log" in given and (kind != "int" or not isinstance(given["log"], bool)):
        raise _error(f"{name}: log is true or false, and belongs to int.", name, remedy="Use log_uniform, or int.")
    if kind == "choice":
        if "points" in given:
            raise _error(f"{name}: points belongs to ranges.", name, remedy="Leave points out.")
        return _options(name, given["choice"])
    return _range(name, kind, given[kind], is_log=bool(given.get("log")), points=_points(name, given))


def _options(name: str, given: Any) -> Options:
    if not isinstance(given, list | tuple):
        raise _error(f"{name}: choice is no list.", name, remedy="Write it as {choice: [a, b]}.")
    if not given:
        raise _error(f"The search space has no points: {name} has no values.", name, remedy="Give at least one value.")
    if len(given) > MOST_OPTIONS:
        raise _error(f"{name} has {len(given):,} values.", name, remedy=f"Give at most {MOST_OPTIONS:,}.")
    for value in given:
        if not (isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))):
            raise _error(
                f"{name}: {_brief(value)} is no value of a hyperparameter.",
                name,
                remedy="Give texts, finite numbers, true or false.",
            )
    if len({(type(value), value) for value in given}) < len(given):
        raise _error(f"{name} has a value twice.", name, remedy="Give each value once.")
    return Options(tuple(given))


def _range(name: str, kind: str, given: Any, *, is_log: bool, points: int) -> ValueRange:
    if not isinstance(given, list | tuple) or len(given) != 2:
        raise _error(f"{name}: {kind} has two ends.", name, remedy=f"Write it as {{{kind}: [low, high]}}.")
    low, high = (_number(name, end) for end in given)
    if low > high:
        raise _error(
            f"The search space has no points: {name} begins at {low:g} and ends at {high:g}.",
            name,
            remedy="Give the smaller end first.",
        )
    if (is_log or kind == "log_uniform") and low <= 0:
        raise _error(f"{name} begins at {low:g}, which has no logarithm.", name, remedy="Begin above 0.")
    if kind != "int":
        return RealRange(low, high, is_log=kind == "log_uniform", points=points)
    if not (low.is_integer() and high.is_integer()):
        raise _error(f"{name}: the ends of int are whole numbers.", name, remedy="Give whole numbers, or use uniform.")
    return IntegerRange(int(low), int(high), is_log=is_log, points=points)


def _number(name: str, given: Any) -> float:
    """A finite number; text such as 1e-4, which YAML does not take for one, counts."""
    try:
        found = math.nan if isinstance(given, bool) else float(given)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found) or abs(found) > 1e15:
        raise _error(f"{name}: {_brief(given)} is no number from -1e15 to 1e15.", name, remedy="Give numbers.")
    return found


def _points(name: str, given: Mapping[str, Any]) -> int:
    found = given.get("points", GRID_POINTS)
    if isinstance(found, bool) or not isinstance(found, int) or not 2 <= found <= MOST_POINTS:
        raise _error(
            f"{name}: points is no whole number from 2 to {MOST_POINTS}.", name, remedy=f"Give 2 to {MOST_POINTS}."
        )
    return found


def _brief(value: Any) -> str:
    """A text or number, cut; of anything else, which may be of any size when it is written out, the type."""
    if isinstance(value, str):
        return repr(value[:LONGEST_NAME])
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**63):
        return repr(value)
    return f"a value of the type {type(value).__name__}"


def _error(message: str, name: str = "", *, remedy: str) -> InvalidInputError:
    return InvalidInputError(message, field=f"space.{name}" if name else "space", remedy=remedy)
