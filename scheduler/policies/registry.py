# SPDX-License-Identifier: Apache-2.0
"""The policies by name. The dictionary below is the whole list."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from scheduler.policies.antman import Antman
from scheduler.policies.backfill import Backfill
from scheduler.policies.capacity import Capacity
from scheduler.policies.dl2.policy import Dl2
from scheduler.policies.drf import Drf
from scheduler.policies.fair import Fair
from scheduler.policies.fifo import Fifo
from scheduler.policies.gandiva import Gandiva
from scheduler.policies.gavel.policy import Gavel
from scheduler.policies.las import Las
from scheduler.policies.mlhub.policy import Mlhub
from scheduler.policies.muri import Muri
from scheduler.policies.optimus import Optimus
from scheduler.policies.pollux.policy import Pollux
from scheduler.policies.priority import Priority
from scheduler.policies.sia import Sia
from scheduler.policies.srsf import Srsf
from scheduler.policies.srtf import Srtf
from scheduler.policies.themis import Themis
from scheduler.policies.tiresias import Tiresias
from scheduler.policies.toolkit.policy import Policy

PolicyClass = Callable[..., Policy]  # made with the parameters by name

POLICIES: Mapping[str, PolicyClass] = {
    "fifo": Fifo,
    "backfill": Backfill,
    "srtf": Srtf,
    "srsf": Srsf,
    "las": Las,
    "fair": Fair,
    "priority": Priority,
    "drf": Drf,
    "capacity": Capacity,
    "optimus": Optimus,
    "themis": Themis,
    "gavel": Gavel,
    "dl2": Dl2,
    "pollux": Pollux,
    "sia": Sia,
    "mlhub": Mlhub,
    "muri": Muri,
    "antman": Antman,
    "gandiva": Gandiva,
    "tiresias": Tiresias,
}


def parameters_of(name: str) -> dict[str, Any]:
    """Returns the parameters of a policy with their defaults. Raises ValueError for an unknown policy."""
    return _parameters(policy_class(name))


def policy_named(name: str, parameters: Mapping[str, Any]) -> Policy:
    """Returns the policy with these parameters; those not given have their defaults.

    Raises ValueError that names the unknown policy or parameter and the known ones, or the value that does not fit.
    """
    return make_policy(policy_class(name), name, parameters)


def make_policy(of: PolicyClass, name: str, parameters: Mapping[str, Any]) -> Policy:
    """Returns a policy of that class; name: what messages call it. Raises ValueError as policy_named()."""
    known = _parameters(of)
    values = {}
    for key, value in parameters.items():
        if key not in known:
            there = f"; it has: {', '.join(sorted(known))}" if known else "; it has none"
            raise ValueError(f"policy {name!r} has no parameter {key!r}{there}")
        values[key] = _checked(name, key, value, known[key])
    return of(**values)


def policy_class(name: str) -> PolicyClass:
    """Returns the class of a registered policy. Raises ValueError for an unknown one."""
    try:
        return POLICIES[name]
    except KeyError:
        raise ValueError(f"there is no policy {name!r}; known: {', '.join(sorted(POLICIES))}") from None


def _parameters(of: PolicyClass) -> dict[str, Any]:
    """Fields of a dataclass with their defaults; a class that is none has no parameters."""
    return {f.name: f.default for f in fields(of) if f.name != "name"} if is_dataclass(of) else {}


def _checked(name: str, key: str, value: Any, default: Any) -> Any:
    """The value in the default's type; numbers must be finite, and not negative unless the default is."""
    wrong = ValueError(f"parameter {key!r} of policy {name!r} must be like {default!r}, not {value!r}")
    if isinstance(default, bool) or isinstance(value, bool):
        if isinstance(default, bool) and isinstance(value, bool):
            return value
        raise wrong
    if isinstance(default, tuple):
        if not isinstance(value, list | tuple) or not all(isinstance(v, int | float) and v >= 0 for v in value):
            raise wrong
        return tuple(float(v) for v in value)
    if isinstance(default, int | float):
        if not isinstance(value, int | float) or not math.isfinite(value) or value < 0 <= default:
            raise wrong
        return type(default)(value)
    if not isinstance(value, type(default)):
        raise wrong
    return value
