"""What a round answers: one decision for every job, each with its reasons; the Plan holds them all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from scheduler.api.memory import RoundMemory
from scheduler.api.snapshot import GangAllocation


class Reason(StrEnum):
    """Why a decision is as it is. SENTENCES holds the words; facts fill them."""

    # why a job waits
    PREFLIGHT = "preflight"
    BACKOFF = "backoff"
    NO_NODES = "no_nodes"
    LARGER_THAN_CLUSTER = "larger_than_cluster"
    LARGER_THAN_QUOTA = "larger_than_quota"
    QUOTA_GPUS = "quota_gpus"
    QUOTA_RUNNING_JOBS = "quota_running_jobs"
    BORROW_LIMIT = "borrow_limit"
    NOTHING_TO_BORROW = "nothing_to_borrow"
    KEPT_FOR_OWNER = "kept_for_owner"
    KEPT_FOR_TURN = "kept_for_turn"
    FAIR_PART = "fair_part"
    LENT_OUT = "lent_out"
    NO_FREE_GPUS = "no_free_gpus"
    FRAGMENTATION = "fragmentation"
    NO_CPU_OR_MEMORY = "no_cpu_or_memory"
    BEHIND_OTHERS = "behind_others"
    ENDING = "ending"
    TOO_FEW_FREE_GPUS = "too_few_free_gpus"
    NO_FREE_GPUS_OF_TYPE = "no_free_gpus_of_type"
    LARGER_THAN_TYPE = "larger_than_type"
    NODES_CLOSED = "nodes_closed"
    NEVER_FITS_NODES = "never_fits_nodes"
    ROOM_IS_MADE = "room_is_made"
    PROMISED_GPUS = "promised_gpus"
    # why a job starts, changes or stays
    FITS = "fits"
    SHORTENS_AVERAGE = "shortens_average"
    IDLE_GPUS = "idle_gpus"
    MAKES_ROOM = "makes_room"
    RESTART_NOT_WORTH_IT = "restart_not_worth_it"
    OVER_QUOTA = "over_quota"
    OVER_QUOTA_JOBS = "over_quota_jobs"
    NODE_LEFT = "node_left"
    UNCHANGED = "unchanged"
    STARTING = "starting"
    NODE_CLOSED = "node_closed"
    RESUMES_RESIZED = "resumes_resized"
    SHORTER_FIRST = "shorter_first"
    SMALLER_FIRST = "smaller_first"
    SERVED_MORE = "served_more"
    WORTH_MORE = "worth_more"
    FAIR_SHARE = "fair_share"
    LINKS_GIVE = "links_give"
    BETTER_LINKS = "better_links"
    MOVES = "moves"
    GOES_ASIDE = "goes_aside"
    HARMS_OTHERS = "harms_others"
    HIGHER_BAND = "higher_band"
    DOMINANT_SHARE = "dominant_share"
    RECLAIMED = "reclaimed"
    LENT = "lent"
    GUARANTEED = "guaranteed"
    FAIR_TURN = "fair_turn"
    FAIR_RECLAIM = "fair_reclaim"
    FAIR_GOODPUT = "fair_goodput"
    GOODPUT_ELSEWHERE = "goodput_elsewhere"
    FINISH_TIME_FAIR = "finish_time_fair"
    LEASE_ENDED = "lease_ended"
    OPTIMAL_SHARE = "optimal_share"
    ROUND_ENDED = "round_ended"
    NETWORK_CHOICE = "network_choice"
    SLOT_ENDED = "slot_ended"
    # why a job shares GPUs, or does not
    SHARES_WITH = "shares_with"
    SHARES_WHAT_IS_LEFT = "shares_what_is_left"
    SHARING_TRIED = "sharing_tried"
    SHARING_NOT_WORTH_IT = "sharing_not_worth_it"
    NOT_PROFILED = "not_profiled"
    PARTNER_LEAVES = "partner_leaves"


SENTENCES: Mapping[Reason, str] = {
    Reason.PREFLIGHT: "The model and data are being tried out; that takes some seconds.",
    Reason.BACKOFF: "The last attempt failed through the platform's fault; the next one starts in {wait_s:.0f} s.",
    Reason.NO_NODES: "No node is connected to the cluster.",
    Reason.LARGER_THAN_CLUSTER: "It needs {need} GPUs, but the whole cluster has {have}.",
    Reason.LARGER_THAN_QUOTA: "It needs {need} GPUs, but {tenant} may never use more than {have}.",
    Reason.QUOTA_GPUS: "{tenant} uses {used} of its {quota} GPUs; {need} more would be over its quota.",
    Reason.QUOTA_RUNNING_JOBS: "{tenant} runs {used} of its {quota} jobs at once.",
    Reason.BORROW_LIMIT: "{tenant} uses {used} GPUs, is guaranteed {guarantee} and may borrow {limit}; "
    "{need} more would be over that.",
    Reason.NOTHING_TO_BORROW: "{tenant} uses {used} GPUs and is guaranteed {guarantee}; it needs {need} more, "
    "and may borrow {free} now.",
    Reason.KEPT_FOR_OWNER: "{kept} GPUs are kept for jobs that are guaranteed them; "
    "{tenant} would have to borrow the {need} that it needs.",
    Reason.KEPT_FOR_TURN: "{kept} GPUs are kept for tenants whose turn it is; {tenant}, with a weight of {weight:g}, "
    "has more of what nobody is guaranteed than they have.",
    Reason.FAIR_PART: "{tenant} has {part} GPUs for a weight of {weight:g}; others have a use for the rest.",
    Reason.LENT_OUT: "{need} GPUs are guaranteed to {tenant}, but others have borrowed them; "
    "they come back when jobs of these end.",
    Reason.NO_FREE_GPUS: "All {total} GPUs are in use; it needs {need}.",
    Reason.FRAGMENTATION: "{free} GPUs are free, but not {need} where they can work together.",
    Reason.NO_CPU_OR_MEMORY: "No node with a free GPU has {cpus:g} CPUs and {memory_gib:.1f} GiB left.",
    Reason.BEHIND_OTHERS: "{ahead} jobs are ahead of it; the next GPU goes to {next_job}.",
    Reason.ENDING: "It is leaving its GPUs.",
    Reason.FITS: "Its turn, and {n_workers} GPUs are free.",
    Reason.SHORTENS_AVERAGE: "{n_workers} GPUs for it now shorten the average completion time the most.",
    Reason.IDLE_GPUS: "{extra} GPUs would stand idle; with them it ends {gain_s:.0f} s earlier.",
    Reason.MAKES_ROOM: "Giving up {given} GPUs lets others end {gain_s:.0f} s earlier in sum.",
    Reason.RESTART_NOT_WORTH_IT: "Another size would save {gain_s:.0f} s, but a restart costs {cost_s:.0f} s.",
    Reason.OVER_QUOTA: "{tenant} holds {used} GPUs and may have {quota}.",
    Reason.OVER_QUOTA_JOBS: "{tenant} runs {used} jobs and may run {quota} at once.",
    Reason.NODE_LEFT: "Node {node} is not there any more.",
    Reason.UNCHANGED: "Nothing better was found.",
    Reason.TOO_FEW_FREE_GPUS: "{free} of {total} GPUs are free; it needs {need}.",
    Reason.NO_FREE_GPUS_OF_TYPE: "{free} of {total} GPUs of type {types} are free; it needs {need}.",
    Reason.LARGER_THAN_TYPE: "It needs {need} GPUs of one type out of {types}, but the cluster has {have}.",
    Reason.NODES_CLOSED: "It needs {need} GPUs, but nodes that take new jobs have {have}; {closed} nodes take none.",
    Reason.NEVER_FITS_NODES: "Even the empty cluster has room for {have} of its {need} workers at {cpus:g} CPUs and "
    "{memory_gib:.1f} GiB each (parameter servers need CPUs too).",
    Reason.ROOM_IS_MADE: "{need} GPUs will be its own as soon as {leaving} jobs have left theirs.",
    Reason.PROMISED_GPUS: "{free} of {total} GPUs are free, {promised} of them promised to others; it needs {need}.",
    Reason.STARTING: "It is starting on {n_workers} GPUs.",
    Reason.NODE_CLOSED: "Node {node} takes no new jobs; what runs there goes on.",
    Reason.RESUMES_RESIZED: "It goes on with {n_workers} GPUs, as was decided before.",
    Reason.SHORTER_FIRST: "It has {left_s:.0f} s left; {next_job} with {shorter_s:.0f} s goes first.",
    Reason.SMALLER_FIRST: "It needs {left:.0f} GPU-seconds more; {next_job} with {smaller:.0f} goes first.",
    Reason.SERVED_MORE: "It had {served:.0f} GPU-seconds (queue {queue}); "
    "{next_job} with {less:.0f} (queue {next_queue}) goes first.",
    Reason.WORTH_MORE: "{given} GPUs do {times:.1f} times as much for others now, weighted by who ends sooner.",
    Reason.SHARES_WITH: "It shares {n_workers} GPUs with {partners}: together they do {times:.2f} times the work.",
    Reason.SHARES_WHAT_IS_LEFT: "It runs beside {partners} on what those leave of {n_workers} GPUs.",
    Reason.SHARING_TRIED: "It is tried beside {partners} on {n_workers} GPUs, to measure what they do together.",
    Reason.SHARING_NOT_WORTH_IT: "Beside {partner}, the best to share with, they would do {times:.2f} times the work; "
    "{least:.2f} would be worth it.",
    Reason.NOT_PROFILED: "It was never profiled, and shares no GPU before that.",
    Reason.PARTNER_LEAVES: "{partner}, whose GPUs it shared, leaves them.",
    Reason.LINKS_GIVE: "On {place} its gradients get {gbps:.1f} Gb/s.",
    Reason.BETTER_LINKS: "On {place} its gradients get {gbps:.1f} Gb/s; on {other} it would be {other_gbps:.1f}.",
    Reason.HARMS_OTHERS: "GPUs are free, but its gradients would take more from others than it would do there.",
    Reason.MOVES: "On other nodes it ends {gain_s:.0f} s earlier, others counted in; the restart costs {cost_s:.0f} s.",
    Reason.GOES_ASIDE: "It goes to other GPUs, so that {other} lies on one node and ends {gain_s:.0f} s earlier.",
    Reason.FAIR_SHARE: "{tenant} gets {granted} GPUs for its weight of {weight:g}; more would be taken from others.",
    Reason.HIGHER_BAND: "Its priority is {priority}; {next_job}, a band above with {next_priority}, goes first.",
    Reason.DOMINANT_SHARE: "With it {tenant} has {percent:g} % of the {resource}, its largest share, "
    "for a weight of {weight:g}.",
    Reason.RECLAIMED: "{tenant} uses {used} GPUs and is guaranteed {guarantee:g}; what is above that was lent, "
    "and others below their guarantee need it.",
    Reason.GUARANTEED: "{n_workers} GPUs of the {guarantee} that {tenant} is guaranteed are its own.",
    Reason.FAIR_TURN: "It is the turn of {tenant}, which had {percent:.0f} % of what nobody is guaranteed, "
    "for a weight of {weight:g}.",
    Reason.FAIR_RECLAIM: "{tenant} had {percent:.0f} % of what nobody is guaranteed, for a weight of {weight:g}; "
    "others have less for theirs, and need the GPUs.",
    Reason.LENT: "{tenant} is guaranteed {guarantee:g} GPUs; more is lent to it while others leave them idle.",
    Reason.FAIR_GOODPUT: "On {n_workers} GPUs it makes {times:.2f} times the progress of an equal share.",
    Reason.GOODPUT_ELSEWHERE: "{given} of its GPUs raise the mean progress of all jobs more elsewhere.",
    Reason.FINISH_TIME_FAIR: "Without GPUs it would end {rho:.2f} times as late as on an equal share; "
    "it gets {n_workers} on a lease.",
    Reason.LEASE_ENDED: "Its lease ended; without GPUs it ends {rho:.2f} times as late as is fair, others {worst:.2f}.",
    Reason.OPTIMAL_SHARE: "It is to have {gpu_type} GPUs {percent:.0f} % of the time, and had them {had:.0f} %.",
    Reason.ROUND_ENDED: "The round ended; it had its {percent:.0f} % of the time, and others are behind theirs.",
    Reason.NETWORK_CHOICE: "The trained network gives it {n_workers} GPUs in this slot.",
    Reason.SLOT_ENDED: "The slot ended, and the trained network gives its GPUs to others in the next one.",
}


@dataclass(frozen=True)
class Explanation:
    """A reason with its numbers. sentence: the words for people."""

    reason: Reason
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        return _ONE.sub(_singular, SENTENCES[self.reason].format(**self.facts))


_ONE = re.compile(r"\b1 (GPU|job|node|worker)s\b( are| have| stand)?")


def _singular(match: re.Match[str]) -> str:
    """One is not many: "1 jobs are" becomes "1 job is"."""
    verb = {None: "", " are": " is", " have": " has", " stand": " stands"}[match[2]]
    return f"1 {match[1]}{verb}"


@dataclass(frozen=True)
class Prediction:
    """When a job starts and ends, as the models see it; seconds on the snapshot's clock. None = not known yet."""

    start_p50_s: float | None = None
    finish_p50_s: float | None = None
    finish_p90_s: float | None = None
    step_s: float | None = None  # predicted step time on the decided allocation


@dataclass(frozen=True)
class Launch:
    """Start a waiting job on this allocation."""

    job: str
    allocation: GangAllocation
    explanations: tuple[Explanation, ...]
    prediction: Prediction = Prediction()


@dataclass(frozen=True)
class Resize:
    """Restart a running job from its checkpoint with another mode, size or place. Its own GPUs count as free for it."""

    job: str
    allocation: GangAllocation
    explanations: tuple[Explanation, ...]
    prediction: Prediction = Prediction()


@dataclass(frozen=True)
class Preempt:
    """Take a running job's GPUs back; it waits again."""

    job: str
    explanations: tuple[Explanation, ...]
    prediction: Prediction = Prediction()


@dataclass(frozen=True)
class Keep:
    """Leave a job that holds an allocation as it is."""

    job: str
    explanations: tuple[Explanation, ...]
    prediction: Prediction = Prediction()


@dataclass(frozen=True)
class Wait:
    """A waiting job goes on waiting; explanations say why, the most binding first."""

    job: str
    explanations: tuple[Explanation, ...]
    prediction: Prediction = Prediction()


Decision = Launch | Resize | Preempt | Keep | Wait


@dataclass(frozen=True)
class Plan:
    """A decision for every job of the snapshot, in the snapshot's order, and the memory for the next round.

    wake_at_s: when the policy wants to decide again although nothing else happens; None = it does not mind.
    order: all jobs that the policy decided on, the one that gets the next GPUs first.
    """

    decisions: tuple[Decision, ...]
    memory: RoundMemory
    policy: str
    wake_at_s: float | None = None
    order: tuple[str, ...] = ()

    def of(self, job: str) -> Decision:
        """The job's decision. Raises KeyError for a job that was not in the snapshot."""
        for decision in self.decisions:
            if decision.job == job:
                return decision
        raise KeyError(job)
