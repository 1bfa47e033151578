# SPDX-License-Identifier: Apache-2.0
"""What a round hands to the next one. It is JSON only at its border, so that rounds can be stored and replayed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from scheduler.api.allocation_json import allocation_from_json, allocation_to_json
from scheduler.api.snapshot import GangAllocation

Json = Mapping[str, Any]  # JSON values only


@dataclass(frozen=True)
class ResizePromise:
    """The allocation that is reserved for a job while it stops in order to be resized.

    colocated_with: jobs with which it is to share these GPUs. is_resize: the job ran when it was promised; False: it
    waited, and starts there once others have left.
    """

    allocation: GangAllocation
    colocated_with: tuple[str, ...] = ()
    is_resize: bool = True


@dataclass(frozen=True)
class RoundMemory:
    """Holds what one round hands to the next one; everything else is in the snapshot.

    policy: the name of the policy that decided; policy_values: what it wants back in its next round.
    prediction_intervals (of ends), start_intervals, arrival_effects, job_lengths: what the models learnt, in the form
    that they write and read.
    resizing: by job, what it was promised. pending_since_s: by waiting job within its tenant's guarantee, since
    when it is pending. decayed_usage: what tenants used, for fair sharing with a half-life. fetching_s: by job that
    starts, the seconds that were predicted for fetching its inputs.
    """

    VERSION: ClassVar[int] = 4

    policy: str = ""
    policy_values: Json = field(default_factory=dict)
    prediction_intervals: Json = field(default_factory=dict)
    start_intervals: Json = field(default_factory=dict)
    arrival_effects: Json = field(default_factory=dict)
    job_lengths: Json = field(default_factory=dict)
    resizing: Mapping[str, ResizePromise] = field(default_factory=dict)
    pending_since_s: Mapping[str, float] = field(default_factory=dict)
    decayed_usage: Json = field(default_factory=dict)
    fetching_s: Mapping[str, float] = field(default_factory=dict)

    def values_for(self, policy: str) -> Json:
        """Returns what this policy wanted back; an empty mapping for any other policy than the one that decided."""
        return self.policy_values if self.policy == policy else {}

    def for_other_policy(self) -> RoundMemory:
        """Returns what is kept when another policy takes over: promised allocations, usage, and who fetches."""
        return RoundMemory(resizing=self.resizing, decayed_usage=self.decayed_usage, fetching_s=self.fetching_s)

    def known_jobs(self) -> frozenset[str]:
        """Returns the jobs that earlier rounds saw; a snapshot without one of them says whether it ended or was
        withdrawn.
        """
        learnt = (self.prediction_intervals, self.start_intervals, self.job_lengths)
        return frozenset(job_id for each in learnt for job_id in each.get("open", ()))

    def to_json(self) -> dict[str, Any]:
        """Returns the memory as JSON values, with the version of their form."""
        return {
            "version": self.VERSION,
            "policy": self.policy,
            "policy_values": dict(self.policy_values),
            "prediction_intervals": dict(self.prediction_intervals),
            "start_intervals": dict(self.start_intervals),
            "arrival_effects": dict(self.arrival_effects),
            "job_lengths": dict(self.job_lengths),
            "resizing": {job_id: _promise_to_json(self.resizing[job_id]) for job_id in sorted(self.resizing)},
            "pending_since_s": dict(self.pending_since_s),
            "decayed_usage": dict(self.decayed_usage),
            "fetching_s": dict(self.fetching_s),
        }

    @classmethod
    def from_json(cls, value: Json) -> RoundMemory:
        """Returns the memory of its JSON values, of version 1 to 4; {} is the memory of a first round.

        Raises ValueError for anything else.
        """
        version = value.get("version", 1)
        names = _NAMES.get(version) if isinstance(version, int) else None
        if names is None:
            raise ValueError(f"this memory has version {version!r}; this MLHub reads versions 1 to {cls.VERSION}")
        unknown = value.keys() - names.keys() - {"version"}
        if unknown:
            raise ValueError(f"a memory of version {version} has no field {sorted(unknown)[0]!r}; remove it")
        try:
            fields = {names[key]: each for key, each in value.items() if key != "version"}
            promises = fields.get("resizing", {})
            resizing = {job_id: _promise_from_json(each) for job_id, each in promises.items()}
            return replace(cls(**fields), resizing=resizing)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a memory's record: {error}") from error


_CURRENT = {
    "policy": "policy",
    "policy_values": "policy_values",
    "prediction_intervals": "prediction_intervals",
    "start_intervals": "start_intervals",
    "arrival_effects": "arrival_effects",
    "job_lengths": "job_lengths",
    "resizing": "resizing",
    "pending_since_s": "pending_since_s",
    "decayed_usage": "decayed_usage",
    "fetching_s": "fetching_s",
}
_VERSION_1 = {
    "policy": "policy",
    "values": "policy_values",
    "bands": "prediction_intervals",
    "arrivals": "arrival_effects",
    "lengths": "job_lengths",
    "resizing": "resizing",
    "claims": "pending_since_s",
    "use": "decayed_usage",
}
_VERSION_3 = {name: name for name in _CURRENT if name != "fetching_s"}
_VERSION_2 = {("claims_since_s" if name == "pending_since_s" else name): name for name in _VERSION_3}
# of each version the fields by its names
_NAMES = {1: _VERSION_1, 2: _VERSION_2, 3: _VERSION_3, RoundMemory.VERSION: _CURRENT}


def _promise_to_json(promise: ResizePromise) -> dict[str, Any]:
    value = allocation_to_json(promise.allocation)
    if promise.colocated_with:
        value["colocated_with"] = list(promise.colocated_with)
    if not promise.is_resize:
        value["is_resize"] = False
    return value


def _promise_from_json(value: Json) -> ResizePromise:
    colocated_with = value.get("colocated_with", value.get("beside", ()))  # the latter in version 1
    return ResizePromise(allocation_from_json(value), tuple(colocated_with), value.get("is_resize", True))
