# SPDX-License-Identifier: Apache-2.0
"""Why a job waits, starts, changes or stays, in words with numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from string import Formatter
from typing import Any


class Reason(StrEnum):
    """Names why a job waits, starts, changes or stays.

    SENTENCES holds the text; the facts of an explanation fill it.
    """

    # why a job waits
    PREFLIGHT = "preflight"
    BACKOFF = "backoff"
    ADMISSION_PAUSED = "admission_paused"
    QUOTA_CHANGES_SOON = "quota_changes_soon"
    NO_NODES = "no_nodes"
    LARGER_THAN_CLUSTER = "larger_than_cluster"
    LARGER_THAN_QUOTA = "larger_than_quota"
    QUOTA_GPUS = "quota_gpus"
    QUOTA_RUNNING_JOBS = "quota_running_jobs"
    BORROW_LIMIT = "borrow_limit"
    NOTHING_TO_BORROW = "nothing_to_borrow"
    NOT_LENT = "not_lent"
    RESERVED_FOR_OWNER = "reserved_for_owner"
    RESERVED_FOR_FAIR_SHARE = "reserved_for_fair_share"
    FAIR_SHARE_REACHED = "fair_share_reached"
    STUDY_SHARE_REACHED = "study_share_reached"
    GUARANTEE_BORROWED = "guarantee_borrowed"
    GUARANTEE_OF_TYPE_BORROWED = "guarantee_of_type_borrowed"
    NOTHING_TO_BORROW_OF_TYPE = "nothing_to_borrow_of_type"
    BORROW_LIMIT_OF_TYPE = "borrow_limit_of_type"
    NOT_LENT_OF_TYPE = "not_lent_of_type"
    NO_FREE_GPUS = "no_free_gpus"
    FRAGMENTATION = "fragmentation"
    NO_CPU_OR_MEMORY = "no_cpu_or_memory"
    BEHIND_OTHERS = "behind_others"
    STOPPING = "stopping"
    TOO_FEW_FREE_GPUS = "too_few_free_gpus"
    NO_FREE_GPUS_OF_TYPE = "no_free_gpus_of_type"
    LARGER_THAN_TYPE = "larger_than_type"
    NODES_CORDONED = "nodes_cordoned"
    NEVER_FITS_NODES = "never_fits_nodes"
    REQUEST_REDUCED = "request_reduced"
    WAITS_FOR_PREEMPTION = "waits_for_preemption"
    RESERVED_GPUS = "reserved_gpus"
    QUARANTINED = "quarantined"
    BUDGET_EXHAUSTED = "budget_exhausted"
    USER_QUOTA_GPUS = "user_quota_gpus"  # of the one whose job it is, within the tenant
    USER_QUOTA_RUNNING_JOBS = "user_quota_running_jobs"
    USER_BUDGET_EXHAUSTED = "user_budget_exhausted"
    LARGER_THAN_USER_QUOTA = "larger_than_user_quota"
    OVER_USER_QUOTA = "over_user_quota"
    QUOTA_GPUS_OF_TYPE = "quota_gpus_of_type"
    LARGER_THAN_QUOTA_OF_TYPE = "larger_than_quota_of_type"
    QUOTA_CPUS = "quota_cpus"
    QUOTA_MEMORY = "quota_memory"
    LARGER_THAN_QUOTA_OF_CPUS = "larger_than_quota_of_cpus"
    LARGER_THAN_QUOTA_OF_MEMORY = "larger_than_quota_of_memory"
    USER_QUOTA_CPUS = "user_quota_cpus"
    USER_QUOTA_MEMORY = "user_quota_memory"
    LARGER_THAN_USER_QUOTA_OF_CPUS = "larger_than_user_quota_of_cpus"
    LARGER_THAN_USER_QUOTA_OF_MEMORY = "larger_than_user_quota_of_memory"
    # why a job starts, changes or stays
    FITS = "fits"
    SHORTENS_AVERAGE = "shortens_average"
    IDLE_GPUS = "idle_gpus"
    SHRINKS_FOR_OTHERS = "shrinks_for_others"
    BATCH_SIZE_CHANGES = "batch_size_changes"
    RESTART_NOT_WORTH_IT = "restart_not_worth_it"
    OVER_QUOTA = "over_quota"
    OVER_QUOTA_JOBS = "over_quota_jobs"
    OVER_QUOTA_OF_TYPE = "over_quota_of_type"
    OVER_QUOTA_CPUS = "over_quota_cpus"
    OVER_QUOTA_MEMORY = "over_quota_memory"
    NODE_LEFT = "node_left"
    UNCHANGED = "unchanged"
    RELEASES_AT_QUOTA_CHANGE = "releases_at_quota_change"
    STARTING = "starting"
    NODE_CORDONED = "node_cordoned"
    RESUMES_RESIZED = "resumes_resized"
    SHORTER_FIRST = "shorter_first"
    SMALLER_FIRST = "smaller_first"
    ATTAINED_SERVICE = "attained_service"
    MORE_GAIN_ELSEWHERE = "more_gain_elsewhere"
    FAIR_SHARE = "fair_share"
    LINK_BANDWIDTH = "link_bandwidth"
    HIGHER_LINK_BANDWIDTH = "higher_link_bandwidth"
    INPUTS_CACHED = "inputs_cached"
    INPUTS_FETCHED = "inputs_fetched"
    MIGRATES = "migrates"
    FASTER_GPU_TYPE = "faster_gpu_type"
    OTHER_GPU_TYPE = "other_gpu_type"
    DEFRAGMENTATION = "defragmentation"
    NETWORK_CONTENTION = "network_contention"
    HIGHER_PRIORITY = "higher_priority"
    DOMINANT_SHARE = "dominant_share"
    RECLAIMED = "reclaimed"
    RECLAIMED_OF_TYPE = "reclaimed_of_type"
    BORROWED = "borrowed"
    GUARANTEED = "guaranteed"
    GUARANTEED_OF_TYPE = "guaranteed_of_type"
    FAIR_SHARE_TURN = "fair_share_turn"
    FAIR_SHARE_RECLAIMED = "fair_share_reclaimed"
    FAIR_GOODPUT = "fair_goodput"
    GOODPUT_ELSEWHERE = "goodput_elsewhere"
    FINISH_TIME_FAIR = "finish_time_fair"
    LEASE_ENDED = "lease_ended"
    OPTIMAL_SHARE = "optimal_share"
    ROUND_ENDED = "round_ended"
    LEARNED_POLICY = "learned_policy"
    SLOT_ENDED = "slot_ended"
    # why a job shares GPUs, or does not
    COLOCATED = "colocated"
    COLOCATED_OPPORTUNISTIC = "colocated_opportunistic"
    COLOCATION_MEASURED = "colocation_measured"
    COLOCATION_NOT_WORTH_IT = "colocation_not_worth_it"
    NOT_PROFILED = "not_profiled"
    PARTNER_LEAVES = "partner_leaves"
    # why another job is ahead in the queue
    SUBMITTED_EARLIER = "submitted_earlier"
    LESS_ATTAINED_SERVICE = "less_attained_service"
    ORDERED_BEFORE = "ordered_before"


SENTENCES: Mapping[Reason, str] = {
    Reason.PREFLIGHT: "Pending: the model and the data are being validated.",
    Reason.BACKOFF: "Pending: the last attempt failed through a fault of the platform; another one may start in "
    "{wait_s:.0f} s.",
    Reason.ADMISSION_PAUSED: "Pending: admission of jobs is paused by an administrator{end}.",
    Reason.QUOTA_CHANGES_SOON: "Pending: GPUs are reserved for others in {wait_s:.0f} s; on GPUs that it would "
    "borrow, the job would have to leave before it has trained.",
    Reason.NO_NODES: "Pending: no node is connected to the cluster.",
    Reason.LARGER_THAN_CLUSTER: "Pending: it requests {need} GPUs, but the whole cluster has {have}.",
    Reason.LARGER_THAN_QUOTA: "Pending: it requests {need} GPUs, but the quota of {tenant} never allows more than "
    "{have}. An admin of {above} can raise it.",
    Reason.QUOTA_GPUS: "Insufficient quota: {tenant} uses {used} of its {quota} GPUs; {need} more would exceed the "
    "quota. An admin of {above} can raise it.",
    Reason.QUOTA_RUNNING_JOBS: "Insufficient quota: {tenant} runs {used} of its {quota} jobs at once. An admin of "
    "{above} can raise that.",
    Reason.BORROW_LIMIT: "Borrowing limit reached: {tenant} uses {used} GPUs, is guaranteed {guarantee} and may "
    "borrow {limit}; {need} more would exceed that. An admin of {above} can raise the limit.",
    Reason.NOTHING_TO_BORROW: "Insufficient quota: {tenant} uses {used} GPUs and is guaranteed {guarantee}; the job "
    "needs {need} more, and {free} can be borrowed now. An admin of {above} can raise the guarantee.",
    Reason.NOT_LENT: "Insufficient quota: {tenant} uses {used} GPUs and is guaranteed {guarantee}; the job needs "
    "{need} more, and {free} can be borrowed now: lending limits keep {kept} GPUs idle for those to whom they are "
    "guaranteed. An admin of {above} can change these.",
    Reason.RESERVED_FOR_OWNER: "{kept} GPUs are reserved for jobs within their tenants' guarantees; {tenant} would "
    "have to borrow the {need} that the job needs.",
    Reason.RESERVED_FOR_FAIR_SHARE: "{kept} GPUs are reserved for tenants with smaller fair shares; {tenant}, with a "
    "weight of {weight:#}, uses more of the GPUs that are guaranteed to no tenant.",
    Reason.FAIR_SHARE_REACHED: "{tenant} has its fair share, {part} GPUs for a weight of {weight:#}; other tenants "
    "use the rest.",
    Reason.STUDY_SHARE_REACHED: "The trials of the study {study} count as one in {tenant}: {part} GPUs are its part "
    "while {rivals} other jobs wait there.",
    Reason.GUARANTEE_BORROWED: "Pending: {need} GPUs are guaranteed to {tenant}, but other tenants have borrowed "
    "them; they return when jobs of these tenants end.",
    Reason.GUARANTEE_OF_TYPE_BORROWED: "Pending: {need} GPUs of type {gpu_type} are guaranteed to {tenant}, but other "
    "tenants have borrowed them; they return when jobs of these tenants end.",
    Reason.NOTHING_TO_BORROW_OF_TYPE: "Insufficient quota: {tenant} uses {used} GPUs of type {gpu_type} and is "
    "guaranteed {guarantee}; the job needs {need} more, and {free} can be borrowed now; the rest is guaranteed to "
    "others. An admin of {above} can raise the guarantee.",
    Reason.BORROW_LIMIT_OF_TYPE: "Borrowing limit reached: {tenant} uses {used} GPUs of type {gpu_type}, is guaranteed "
    "{guarantee} and may borrow {limit} of that type; {need} more would exceed that. An admin of {above} can raise the "
    "limit.",
    Reason.NOT_LENT_OF_TYPE: "Insufficient quota: {tenant} uses {used} GPUs of type {gpu_type} and is guaranteed "
    "{guarantee}; the job needs {need} more, and {free} can be borrowed now: lending limits keep {kept} GPUs of that "
    "type idle for those to whom they are guaranteed. An admin of {above} can raise the guarantee.",
    Reason.NO_FREE_GPUS: "Pending: all {total} GPUs are allocated; it requests {need}.",
    Reason.FRAGMENTATION: "Pending: {free} GPUs are free, but no placement of {need} GPUs fits (fragmentation).",
    Reason.NO_CPU_OR_MEMORY: "Pending: no node with a free GPU has {cpus:#} CPUs and {memory_gib:.1f} GiB of memory "
    "left.",
    Reason.BEHIND_OTHERS: "{ahead} jobs are ahead of it in the queue; the next GPUs go to {next_job}.",
    Reason.STOPPING: "It is stopping and releases its GPUs.",
    Reason.TOO_FEW_FREE_GPUS: "Pending: {free} of {total} GPUs are free; it requests {need}.",
    Reason.NO_FREE_GPUS_OF_TYPE: "Pending: {free} of {total} GPUs of type {types} are free; it requests {need}.",
    Reason.LARGER_THAN_TYPE: "Pending: it requests {need} GPUs of one type out of {types}, but the cluster has {have}.",
    Reason.NODES_CORDONED: "Pending: it requests {need} GPUs, but schedulable nodes have {have}; {closed} nodes "
    "take no new jobs: cordoned, drained, excluded or not ready.",
    Reason.NEVER_FITS_NODES: "Pending: even the empty cluster has room for only {have} of {need} workers with "
    "{cpus:#} CPUs and {memory_gib:.1f} GiB each (parameter servers need CPUs, too).",
    Reason.REQUEST_REDUCED: "It requested {asked} workers; the cluster, or a limit that counts for it, never allows "
    "more than {have}.",
    Reason.WAITS_FOR_PREEMPTION: "Pending: {need} GPUs are reserved for it; preemption of {leaving} jobs is under way.",
    Reason.RESERVED_GPUS: "Pending: {free} of {total} GPUs are free, but {promised} of them are reserved for other "
    "jobs; it requests {need}.",
    Reason.BUDGET_EXHAUSTED: "Budget exhausted: {tenant} has used {used:#} of its {budget:#} GPU-hours{scope}; "
    "{renewal}. An admin of {above} can raise it.",
    Reason.USER_QUOTA_GPUS: "Limit of a user: {user} uses {used} of the {quota} GPUs{scope} that one person may use in "
    "{tenant}; {need} more would exceed that. An admin of {admins} can raise it.",
    Reason.USER_QUOTA_RUNNING_JOBS: "Limit of a user: {user} runs {used} of the {quota} jobs that one person may run "
    "at once in {tenant}. An admin of {admins} can raise it.",
    Reason.USER_BUDGET_EXHAUSTED: "Limit of a user: {user} has used {used:#} of the {budget:#} GPU-hours{scope} that "
    "one person may use in {tenant}; {renewal}. An admin of {admins} can raise it.",
    Reason.LARGER_THAN_USER_QUOTA: "Pending: it requests {need} GPUs, but {user} may never use more than {have} in "
    "{tenant}. An admin of {admins} can raise that.",
    Reason.OVER_USER_QUOTA: "Over the limit of a user: {user} has {used:#} {what} in {tenant} and may have {quota:#}.",
    Reason.QUOTA_GPUS_OF_TYPE: "Insufficient quota: {tenant} uses {used} of its {quota} GPUs of type {gpu_type}; "
    "{need} more would exceed the quota. An admin of {above} can raise it.",
    Reason.LARGER_THAN_QUOTA_OF_TYPE: "Pending: it requests {need} GPUs of one type out of {types}, but the quota of "
    "{tenant} never allows more than {have}. An admin of {above} can raise it.",
    Reason.QUOTA_CPUS: "Insufficient quota: pods of {tenant} request {used:#} of its {quota:#} CPUs; {need:#} more "
    "would exceed the quota. An admin of {above} can raise it.",
    Reason.QUOTA_MEMORY: "Insufficient quota: pods of {tenant} request {used:.1f} of its {quota:.1f} GiB of memory; "
    "{need:.1f} GiB more would exceed the quota. An admin of {above} can raise it.",
    Reason.LARGER_THAN_QUOTA_OF_CPUS: "Pending: {n_workers} workers of it request {need:#} CPUs, but the quota of "
    "{tenant} never allows more than {have:#}. An admin of {above} can raise it.",
    Reason.LARGER_THAN_QUOTA_OF_MEMORY: "Pending: {n_workers} workers of it request {need:.1f} GiB of memory, but the "
    "quota of {tenant} never allows more than {have:.1f}. An admin of {above} can raise it.",
    Reason.USER_QUOTA_CPUS: "Limit of a user: pods of {user} request {used:#} of the {quota:#} CPUs that one person "
    "may have in {tenant}; {need:#} more would exceed that. An admin of {admins} can raise it.",
    Reason.USER_QUOTA_MEMORY: "Limit of a user: pods of {user} request {used:.1f} of the {quota:.1f} GiB of memory "
    "that one person may have in {tenant}; {need:.1f} GiB more would exceed that. An admin of {admins} can raise it.",
    Reason.LARGER_THAN_USER_QUOTA_OF_CPUS: "Pending: {n_workers} workers of it request {need:#} CPUs, but {user} may "
    "never have more than {have:#} in {tenant}. An admin of {admins} can raise that.",
    Reason.LARGER_THAN_USER_QUOTA_OF_MEMORY: "Pending: {n_workers} workers of it request {need:.1f} GiB of memory, but "
    "{user} may never have more than {have:.1f} in {tenant}. An admin of {admins} can raise that.",
    Reason.QUARANTINED: "The scheduler cannot handle this job and leaves it as it is; platform administrators see why.",
    Reason.FITS: "Admitted: {n_workers} GPUs are free, and no job is before it.",
    Reason.SHORTENS_AVERAGE: "Admitted: giving it {n_workers} GPUs shortens the average completion time the most.",
    Reason.IDLE_GPUS: "{extra} GPUs would be idle; with them it ends {gain_s:.0f} s earlier.",
    Reason.SHRINKS_FOR_OTHERS: "It releases {given} GPUs, with which other jobs end {gain_s:.0f} s earlier in sum.",
    Reason.BATCH_SIZE_CHANGES: "Batch size {was} -> {batch_size}: with a gradient noise scale of {noise_scale:.0f} "
    "examples, that makes {times:.2f} times the progress a second (goodput).",
    Reason.RESTART_NOT_WORTH_IT: "Another size would save {gain_s:.0f} s, but a restart costs {cost_s:.0f} s.",
    Reason.OVER_QUOTA: "Over quota: {tenant} uses {used} GPUs and may use {quota}.",
    Reason.OVER_QUOTA_JOBS: "Over quota: {tenant} runs {used} jobs and may run {quota} at once.",
    Reason.OVER_QUOTA_OF_TYPE: "Over quota: {tenant} uses {used} GPUs of type {gpu_type} and may use {quota}.",
    Reason.OVER_QUOTA_CPUS: "Over quota: pods of {tenant} request {used:#} CPUs and may request {quota:#}.",
    Reason.OVER_QUOTA_MEMORY: "Over quota: pods of {tenant} request {used:.1f} GiB of memory and may request "
    "{quota:.1f}.",
    Reason.NODE_LEFT: "Node {node} has left the cluster.",
    Reason.UNCHANGED: "No better allocation was found.",
    Reason.RELEASES_AT_QUOTA_CHANGE: "Quotas change on {at}: it is predicted to release {given} of its {held} GPUs "
    "then.",
    Reason.STARTING: "It is starting on {n_workers} GPUs.",
    Reason.NODE_CORDONED: "Node {node} takes no new jobs: it is cordoned, drained, excluded or not ready. "
    "Running ones continue.",
    Reason.RESUMES_RESIZED: "It resumes with {n_workers} GPUs, as decided before.",
    Reason.SHORTER_FIRST: "It has {left_s:.0f} s left; {next_job} with {shorter_s:.0f} s is shorter and goes first.",
    Reason.SMALLER_FIRST: "It needs {left:.0f} GPU-seconds more; {next_job} with {smaller:.0f} goes first.",
    Reason.ATTAINED_SERVICE: "It has attained {served:.0f} GPU-seconds (queue {queue}); {next_job} with {less:.0f} "
    "(queue {next_queue}) goes first.",
    Reason.MORE_GAIN_ELSEWHERE: "{given} GPUs gain {times:.1f} times as much in other jobs now, weighted by how soon "
    "these end.",
    Reason.FAIR_SHARE: "{tenant} gets {granted} GPUs for its weight of {weight:#}; more would be taken from other "
    "tenants.",
    Reason.LINK_BANDWIDTH: "On {place} its gradients get {gbps:.1f} Gb/s.",
    Reason.HIGHER_LINK_BANDWIDTH: "On {place} its gradients get {gbps:.1f} Gb/s; on {other} it would be "
    "{other_gbps:.1f}.",
    Reason.INPUTS_CACHED: "Its inputs are in the cache of {place}; to fetch them would take about {fetch_s:.0f} s.",
    Reason.INPUTS_FETCHED: "{gigabytes:.1f} GB of its inputs are not in the cache of {place}; to fetch them takes "
    "about {fetch_s:.0f} s.",
    Reason.MIGRATES: "On other nodes it ends {gain_s:.0f} s earlier, effects on other jobs included; the restart "
    "costs {cost_s:.0f} s.",
    Reason.FASTER_GPU_TYPE: "It moves from {old_type} to {n_workers} GPUs of type {gpu_type} and ends {gain_s:.0f} s "
    "earlier, its restart included.",
    Reason.OTHER_GPU_TYPE: "It moves to {n_workers} GPUs of type {gpu_type} and ends {gain_s:.0f} s later; other jobs "
    "gain more by {old_type}.",
    Reason.DEFRAGMENTATION: "It is moved so that {other} fits on one node and ends {gain_s:.0f} s earlier.",
    Reason.NETWORK_CONTENTION: "Pending: GPUs are free, but its traffic there would cost other jobs more than it "
    "would gain.",
    Reason.HIGHER_PRIORITY: "Its priority is {priority}; {next_job} with the higher priority {next_priority} goes "
    "first.",
    Reason.DOMINANT_SHARE: "With it {tenant} has {percent:#} % of the {resource}, its dominant share, for a weight "
    "of {weight:#}.",
    Reason.RECLAIMED: "Reclaimed: {tenant} uses {used} GPUs and is guaranteed {guarantee:#}; it borrowed the rest, "
    "which tenants below their guarantees need.",
    Reason.RECLAIMED_OF_TYPE: "Reclaimed: {tenant} uses {used} GPUs of type {gpu_type} and is guaranteed "
    "{guarantee:#}; it borrowed the rest, which tenants below their guarantees of that type need.",
    Reason.BORROWED: "{tenant} is guaranteed {guarantee:#} GPUs; it borrows the rest while other tenants leave them "
    "idle.",
    Reason.GUARANTEED: "Admitted: {n_workers} GPUs within the {guarantee} that {tenant} is guaranteed.",
    Reason.GUARANTEED_OF_TYPE: "Admitted: {n_workers} GPUs within the {guarantee} of type {gpu_type} that {tenant} is "
    "guaranteed.",
    Reason.FAIR_SHARE_TURN: "Admitted: {tenant} is next by fair share; it had {percent:.0f} % of the GPUs that are "
    "guaranteed to no tenant, for a weight of {weight:#}.",
    Reason.FAIR_SHARE_RECLAIMED: "Reclaimed: {tenant} had {percent:.0f} % of the GPUs that are guaranteed to no "
    "tenant, for a weight of {weight:#}; other tenants have smaller shares and need the GPUs.",
    Reason.FAIR_GOODPUT: "On {n_workers} GPUs it makes {times:.2f} times the progress of an equal share.",
    Reason.GOODPUT_ELSEWHERE: "{given} of its GPUs raise the mean progress of all jobs more in other jobs.",
    Reason.FINISH_TIME_FAIR: "Without GPUs its finish-time fairness would be {rho:.2f} (1 = as on an equal share); "
    "it gets {n_workers} on a lease.",
    Reason.LEASE_ENDED: "Its lease ended; without GPUs its finish-time fairness is {rho:.2f}, that of others up to "
    "{worst:.2f}.",
    Reason.OPTIMAL_SHARE: "Its optimal share of {gpu_type} GPUs is {percent:.0f} % of the time; it had them "
    "{had:.0f} %.",
    Reason.ROUND_ENDED: "The round ended; it had its {percent:.0f} % of the time, and other jobs are behind theirs.",
    Reason.LEARNED_POLICY: "The learned policy gives it {n_workers} GPUs in this slot.",
    Reason.SLOT_ENDED: "The slot ended, and the learned policy gives its GPUs to other jobs in the next one.",
    Reason.COLOCATED: "It shares {n_workers} GPUs with {partners}: together they do {times:.2f} times the work.",
    Reason.COLOCATED_OPPORTUNISTIC: "It is co-located with {partners} and uses what they leave of {n_workers} GPUs.",
    Reason.COLOCATION_MEASURED: "It is co-located with {partners} on {n_workers} GPUs to measure their speeds "
    "together.",
    Reason.COLOCATION_NOT_WORTH_IT: "Co-located with {partner}, the best partner, they would do {times:.2f} times "
    "the work; at least {least:.2f} is required.",
    Reason.NOT_PROFILED: "It has no profile yet, and shares no GPU before it has one.",
    Reason.PARTNER_LEAVES: "{partner}, whose GPUs it shared, releases them.",
    Reason.SUBMITTED_EARLIER: "{next_job} was submitted {earlier_s:.0f} s earlier.",
    Reason.LESS_ATTAINED_SERVICE: "It has had {served:.0f} GPU-seconds; {next_job} with {less:.0f} goes first.",
    Reason.ORDERED_BEFORE: "The policy {policy} serves {next_job} first.",
}


def filled_in(sentence: str, facts: Mapping[str, Any]) -> str:
    """Returns the sentence with the numbers filled in, in the singular where a number is 1."""
    return in_singular(_FIGURES.vformat(sentence, (), facts) if ":#}" in sentence else sentence.format(**facts))


def figure(value: float) -> str:
    """Returns the number as people read it: 1,234,567.89, 10, 0.0042. Never 1e+06."""
    text = f"{value:,.{2 if abs(value) >= 1 or value == 0 else 4}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


class _Figures(Formatter):
    """Writes {budget:#} as figure(budget)."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return figure(value) if format_spec == "#" else str(super().format_field(value, format_spec))


_FIGURES = _Figures()


def date_of(at_s: float | None) -> str:
    """Returns the time as a part of a sentence: 2026-12-01 at 09:00 UTC. "" for None, and where no calendar has it.

    at_s: seconds since 1970 UTC.
    """
    if at_s is None:
        return ""
    try:
        at = datetime.fromtimestamp(at_s, UTC)
    except (OverflowError, OSError, ValueError):
        return ""
    return f"{at:%Y-%m-%d} at {at:%H:%M} UTC"


def in_singular(text: str) -> str:
    """Returns the text with "1 worker" where it has "1 workers"."""
    return _ONE.sub(_singular, text).replace(" 1 of them are ", " 1 of them is ")


_ONE = re.compile(
    r"(?<![\w.,])1 (guaranteed job|opportunistic job|other job|GPU|CPU|job|node|server|worker)s\b( are| have| wait)?"
)


def _singular(match: re.Match[str]) -> str:
    """ "1 jobs are" becomes "1 job is"."""
    verb = {None: "", " are": " is", " have": " has", " wait": " waits"}[match[2]]
    return f"1 {match[1]}{verb}"
