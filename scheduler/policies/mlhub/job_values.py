# SPDX-License-Identifier: Apache-2.0
"""What each job is worth in one round of the default policy, by size and GPU type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from scheduler.api.arrays import Floats
from scheduler.api.snapshot import JobSnapshot
from scheduler.models.cost import restart_cost_s, start_cost_s
from scheduler.models.progress import remaining_s, steps_left
from scheduler.models.speed.job_classes import JobClass
from scheduler.policies.mlhub.size_arrays import Flags, SizeArrays, flat
from scheduler.policies.toolkit.gpu_types import TypeOptions, assign_types, capacity_by_type
from scheduler.policies.toolkit.policy import View, by_submission, longest_run_first, n_held
from scheduler.policies.toolkit.prices import SpeedCurve, prices, prices_in_line
from scheduler.quota.budget import Budget

FETCHING_PAYS = 2.0  # times what fetching costs, a change has more time to pay: nodes hold the inputs from then on


class Parameters(Protocol):
    """Names the parameters of the policy that values depend on; see policy.py."""

    @property
    def margin(self) -> float:
        """Returns the restarts that a change is charged in addition to its own."""

    @property
    def horizon_s(self) -> float:
        """Returns the time in which a change has to pay."""

    @property
    def cooldown_s(self) -> float:
        """Returns the least time between two changes of a job."""

    @property
    def last_stretch(self) -> float:
        """Returns the restarts before its end from which on a job is not changed."""

    @property
    def least_training(self) -> float:
        """Returns how many times its start a job has to train, at least, on more GPUs than its least size."""

    @property
    def stickiness(self) -> float:
        """Returns what holding a size is worth by itself."""

    @property
    def patience_s(self) -> float:
        """Returns the time after which a waiting job may count as starved."""

    @property
    def patience(self) -> float:
        """Returns how many times its remaining time a job waits until it counts as starved."""


class JobValues:
    """Values sizes of jobs in one round. gpu_type: the type that each job is valued on; "" where there is only one.

    n_gpus: that the policy may grant. guests: running jobs that stay where they are. cooling_until_s: by job that has
    just changed. settled: these, and those that are near their end, which are left as they are.

    Axes of arrays: J jobs, or pairs of a job and a type; F pairs of one of these and a size (size_arrays.py).
    """

    def __init__(
        self, policy: Parameters, view: View, budget: Budget, memory: Mapping[str, Any], guests: Collection[str]
    ) -> None:
        self.policy, self.view, self.n_gpus = policy, view, budget.n_left()
        self.running = sorted((job for job in view.jobs if n_held(job)), key=longest_run_first)
        self.waiting = sorted((job for job in view.jobs if not n_held(job)), key=by_submission)
        self.jobs = [*self.running, *self.waiting]
        self.n_trials = Counter(job.study for job in self.jobs if job.study)
        self.capacity = capacity_by_type(view.nodes)
        self.is_mixed = len(self.capacity) > 1
        self._types: dict[tuple[int, tuple[str, ...]], list[str]] = {}
        node_types = {node.name: node.gpu_type for node in view.nodes}
        self._held_types = {job.id: _type_held(job, node_types) for job in (*self.running, *view.settled)}
        self._n_there: dict[str, int] = {}
        self._restart_s = {job.id: restart_cost_s(job) for job in (*self.jobs, *view.settled)}
        self._start_s = {job.id: start_cost_s(job) for job in self.jobs}
        self._steps_left = {job.id: steps_left(job) for job in (*self.jobs, *view.settled)}
        self._newest_first = sorted(self.jobs, key=lambda job: (-job.submitted_at_s, job.id))
        self._share = sum(self.capacity.values()) / max(1, len(self.jobs))
        self._present_left_s: dict[str, float] = {}
        self._doubling: dict[tuple[str, str, int, int], tuple[int, ...]] = {}
        self.standard_sizes: dict[str, tuple[int, ...]] = {}
        self.sizes: dict[str, tuple[int, ...]] = {}
        self.curves: dict[str, SpeedCurve] = {}
        self._left_s: dict[str, dict[int, float]] = {}
        calm_until_s = {job.id: self._calm_until_s(job) for job in self.running}
        self.cooling_until_s = {job_id: at_s for job_id, at_s in calm_until_s.items() if view.now_s < at_s}
        self.settled = {job.id for job in self.running if job.id in self.cooling_until_s or self._is_near_its_end(job)}
        self.gpu_type = dict.fromkeys((job.id for job in self.jobs), "")
        if self.is_mixed:
            self.gpu_type |= self._assigned(self.settled | set(guests))
        self._value_jobs(self.jobs)
        before = memory.get("waiting_since", {})
        self.waiting_since = {job.id: float(before.get(job.id, view.now_s)) for job in self.waiting}
        self.starved = [job for job in self.waiting if self._is_starved(job)]

    def _value_jobs(self, changed: Sequence[JobSnapshot]) -> None:
        """Works out sizes and remaining times of these jobs on their types, and from them the prices of all jobs.

        Sizes that were not measured count as slower by their error, but never by more than finding out costs: a restart
        there, and one back.
        """
        types = [self.gpu_type[job.id] for job in changed]
        all_sizes = list(map(self._all_sizes, changed, types))
        classes = self.view.speeds.classes(changed, all_sizes, types=types)
        arrays = SizeArrays(all_sizes)
        left_F = np.array([self._steps_left[job.id] for job in changed])[arrays.job_F]
        trial_F = np.array([2 * self._restart_s[job.id] for job in changed])[arrays.job_F]
        train_F = left_F * flat(map(JobClass.curve, classes, all_sizes))
        time_F = np.minimum(left_F * flat(map(JobClass.best_curve, classes, all_sizes)), train_F + trial_F)
        fetch_F = self._fetch_F(changed, all_sizes, types)
        worth_F = self._is_worth_a_start_F(changed, arrays, train_F, fetch_F)
        sizes = all_sizes if worth_F.all() else map(tuple, arrays.rows(arrays.size_F, worth_F))
        each = zip(changed, sizes, arrays.rows(train_F, worth_F), arrays.rows(time_F, worth_F), strict=True)
        for job, own_sizes, trains_s, times in each:
            n_there = self._n_there[job.id] = self._count_there(job)
            self.standard_sizes[job.id] = own_sizes
            self.sizes[job.id] = _with(own_sizes, n_there)
            self.curves[job.id] = SpeedCurve(own_sizes, trains_s)
            self._left_s[job.id] = left_s = dict(zip(own_sizes, times, strict=True))
            if n_there:
                left_s[n_there] = self.present_left_s(job)
        self.is_rigid = all(len(own_sizes) == 1 for own_sizes in self.standard_sizes.values())
        self._values: dict[str, dict[int, float]] = {}
        self.weights = self._weights()

    # GPU types

    def held_type(self, job: JobSnapshot) -> str:
        """Returns the type of the GPUs that the job holds; "" for a waiting one."""
        return self._held_types.get(job.id, "")

    def n_there(self, job: JobSnapshot) -> int:
        """Returns the GPUs that the job holds of the type that it is valued on."""
        return self._n_there[job.id]

    def _count_there(self, job: JobSnapshot) -> int:
        n_workers = n_held(job)
        return n_workers if not self.is_mixed or self.held_type(job) == self.gpu_type[job.id] else 0

    def types_of(self, job: JobSnapshot) -> list[str]:
        """Returns the types that the job may use and that have enough GPUs for it."""
        key = (job.min_workers, job.gpu_types)
        found = self._types.get(key)
        if found is None:
            enough = (t for t, n in self.capacity.items() if n >= job.min_workers)
            found = self._types[key] = [t for t in enough if not job.gpu_types or t in job.gpu_types]
        return found

    def revalue_on(self, gpu_types: Mapping[str, str]) -> None:
        """Values jobs on other types than those that they were assigned to."""
        changed = [job for job in self.jobs if gpu_types.get(job.id, self.gpu_type[job.id]) != self.gpu_type[job.id]]
        if changed:
            self.gpu_type |= gpu_types
            self._value_jobs(changed)

    def worth_on(self, job: JobSnapshot, gpu_type: str) -> float:
        """Returns the speed of the job on its least GPUs of that type, in parts of its remaining work a second."""
        sizes = self._all_sizes(job, gpu_type)
        return 1.0 / max(self._steps_left[job.id] * self.view.speeds.curve(job, sizes, gpu_type=gpu_type)[0], 1e-9)

    def _assigned(self, pinned: Collection[str]) -> dict[str, str]:
        """A type for each job. pinned: running jobs that keep theirs. Starting jobs count where they are."""
        options = {job.id: TypeOptions(job.id, job.submitted_at_s, {}, {}) for job in self.jobs}
        self._add_options(options, pinned)
        for job in self.view.settled:
            if n_held(job):
                options[job.id] = TypeOptions(job.id, job.submitted_at_s, {}, {})
                for t in self._allowed_types(job, is_pinned=True):
                    options[job.id].add(t, n_held(job), self._stay_s(job))
        found = assign_types(options.values(), capacity=self.capacity)
        standard = self.view.speeds.standard_type
        return {job.id: found.get(job.id) or self.held_type(job) or standard(job) for job in self.jobs}

    def _allowed_types(self, job: JobSnapshot, *, is_pinned: bool) -> list[str]:
        types = self.types_of(job)
        return [t for t in types if t == self.held_type(job)] if is_pinned else types

    def _add_options(self, options: Mapping[str, TypeOptions], pinned: Collection[str]) -> None:
        """The fastest size within an equal share of the GPUs, or the least one, on each type that a job may use.

        A change of type is charged like one of size; on the present type its restart is saved.
        """
        pairs = [(job, t) for job in self.jobs for t in self._allowed_types(job, is_pinned=job.id in pinned)]
        jobs, types = [job for job, _ in pairs], [t for _, t in pairs]
        sizes = list(map(self._all_sizes, jobs, types))
        classes = self.view.speeds.classes(jobs, sizes, types=types)
        moves, held_type = [], self._held_types.get
        for i, (job, t) in enumerate(pairs):
            if t == held_type(job.id):
                options[job.id].add(t, n_held(job), self._stay_s(job))
            else:
                moves.append(i)
        if not moves:
            return
        jobs, types, sizes = [jobs[i] for i in moves], [types[i] for i in moves], [sizes[i] for i in moves]
        arrays = SizeArrays(sizes)
        step_F = flat(map(JobClass.curve, [classes[i] for i in moves], sizes))
        train_F = np.array([self._steps_left[job.id] for job in jobs])[arrays.job_F] * step_F
        fetch_F = self._fetch_F(jobs, sizes, types)
        worth_F = self._is_worth_a_start_F(jobs, arrays, train_F, fetch_F)
        best_J = arrays.fastest_J(step_F, among_F=worth_F, share=self._share)
        charged_J = np.where([bool(held_type(job.id)) for job in jobs], 1 + self.policy.margin, 1.0)
        restart_J = np.array([self._restart_s[job.id] for job in jobs]) + fetch_F[best_J]
        left_J = train_F[best_J] + restart_J * charged_J
        for job, t, n_gpus, left_s in zip(jobs, types, arrays.size_F[best_J].tolist(), left_J.tolist(), strict=True):
            options[job.id].add(t, n_gpus, left_s)

    def _stay_s(self, job: JobSnapshot) -> float:
        return self.present_left_s(job) / (1 + self.policy.stickiness)

    # sizes and times

    def _is_worth_a_start_F(  # noqa: N802
        self, jobs: Sequence[JobSnapshot], arrays: SizeArrays, train_F: Floats, fetch_F: Floats
    ) -> Flags:
        """Which sizes are worth a start; the others count for nothing.

        All the GPUs of a waiting job stand idle while it starts: it gets none with which it would train for hardly
        longer than that. train_F: the seconds of its training; fetch_F: of fetching.
        """
        times_J = np.array([0.0 if n_held(job) else self.policy.least_training for job in jobs])
        start_F = np.array([self._start_s[job.id] for job in jobs])[arrays.job_F] + fetch_F
        return arrays.is_least_F | (train_F >= times_J[arrays.job_F] * start_F)

    def _fetch_F(  # noqa: N802
        self, jobs: Sequence[JobSnapshot], sizes: Sequence[Collection[int]], types: Sequence[str]
    ) -> Floats:
        """How much longer starts take by fetching inputs, in seconds; 0 where it is not known what nodes hold."""
        fetching = self.view.fetching
        if fetching is None:
            return np.zeros(sum(map(len, sizes)))
        each = zip(jobs, sizes, types, strict=True)
        return flat(
            fetching.seconds(job, own_sizes, gpu_type=t, stays=t in ("", self.held_type(job)))
            for job, own_sizes, t in each
        )

    def _all_sizes(self, job: JobSnapshot, gpu_type: str) -> tuple[int, ...]:
        """Doubling up to a node's GPUs, then in whole nodes: 1, 2, 3, 4, 6, 8, 12, ... of them."""
        own_type = gpu_type or self.view.speeds.standard_type(job)
        key = (gpu_type, own_type, job.min_workers, job.max_workers)
        found = self._doubling.get(key)
        if found is None:
            n_gpus = self.capacity.get(gpu_type, 0) if gpu_type else self.n_gpus
            top = min(job.max_workers, max(n_gpus, job.min_workers))
            per_node = self.view.speeds.topology.gpus_per_node(own_type)
            found = self._doubling[key] = _doubling(job.min_workers, top, per_node)
        return found

    def restart_s(self, job: JobSnapshot) -> float:
        """Returns restart_cost_s(), worked out once."""
        return self._restart_s[job.id]

    def change_s(self, job: JobSnapshot, n_workers: int) -> float:
        """Returns what a change to that size costs: a restart, and fetching inputs onto nodes that lack them."""
        fetch_s = self._fetch_F([job], [(n_workers,)], [self.gpu_type[job.id]])
        return self.restart_s(job) + float(fetch_s[0])

    def left_s(self, job: JobSnapshot, n_workers: int) -> float:
        """Returns the remaining time at a size; at the present size on the present nodes."""
        times = self._left_s[job.id]
        if n_workers not in times:
            step_s = self.view.speeds.best_step_s(job, n_workers, gpu_type=self.gpu_type[job.id])
            times[n_workers] = remaining_s(job, step_s=step_s)
        return times[n_workers]

    def present_left_s(self, job: JobSnapshot) -> float:
        """Returns the remaining time on the GPUs that the job holds."""
        found = self._present_left_s.get(job.id)
        if found is None:
            step_s = self.view.speeds.present_step_s(job)
            found = self._present_left_s[job.id] = self._steps_left[job.id] * step_s
        return found

    # prices and values

    def _weights(self) -> dict[str, float]:
        """Prices of the jobs (see prices.py), among those on one type; four times as much for each step of priority.

        The trials of a study share the weight of one job.

        They do not depend on what a job holds: else they would change with every change, and bring the next one.
        """
        found: dict[str, float] = {}
        by_type: dict[str, list[JobSnapshot]] = {}
        for job in self._newest_first:
            by_type.setdefault(self.gpu_type[job.id], []).append(job)
        for gpu_type, there in sorted(by_type.items()):
            found |= self._prices(there, self.capacity.get(gpu_type, self.n_gpus) if self.is_mixed else self.n_gpus)
        return found

    def _prices(self, jobs: Sequence[JobSnapshot], n_gpus: int) -> dict[str, float]:
        """jobs: the newest first."""
        ordered = self._by_work(jobs) if self.is_rigid else jobs
        price = prices_in_line if self.is_rigid else prices
        found = price([self.curves[job.id] for job in ordered], n_gpus=n_gpus)
        trials = self.n_trials
        return {
            job.id: each / (trials.get(job.study, 1) if trials else 1) * job.priority_weight
            for job, each in zip(ordered, found, strict=True)
        }

    def _by_work(self, jobs: Iterable[JobSnapshot]) -> list[JobSnapshot]:
        """Most GPU-seconds first; a restart counts for who would need one, so that equal jobs do not take turns."""
        work = {}
        for job in jobs:
            restart_s = 0.0 if self.n_there(job) else self.restart_s(job)
            work[job.id] = self.curves[job.id].least_gpu_s + restart_s * job.min_workers
        return sorted(jobs, key=lambda job: (-work[job.id], -job.submitted_at_s, job.id))

    def value(self, job: JobSnapshot, n_workers: int) -> float:
        """Returns price by remaining time: what a second at that size is worth; less by its restart for a change."""
        return self.values(job, (n_workers,))[0]

    def prepare(self, jobs: Sequence[JobSnapshot]) -> None:
        """Works out at once what values() of these jobs is going to be asked for."""
        new = [job for job in jobs if job.id not in self._values]
        if new:
            found_of = self._values_of(new, [self._left_s[job.id] for job in new])
            self._values |= {job.id: own for job, own in zip(new, found_of, strict=True)}

    def values(self, job: JobSnapshot, sizes: Sequence[int]) -> list[float]:
        """Returns value() of each of these sizes."""
        if job.id not in self._values:
            self.prepare([job])
        found = self._values[job.id]
        try:
            return [found[n] for n in sizes]
        except KeyError:  # a size that is none of its own, as a reason asks for
            found |= self._values_of([job], [{n: self.left_s(job, n) for n in sizes}])[0]
            return [found[n] for n in sizes]

    def _values_of(self, jobs: Sequence[JobSnapshot], left_s: Sequence[Mapping[int, float]]) -> list[dict[int, float]]:
        """Of each job by size; left_s: the remaining times."""
        if self.is_rigid:  # whatever its placement: a badly placed job is defragmented, not preempted
            worths = [self.weights[job.id] / max(self.curves[job.id].left_s[0], 1e-9) for job in jobs]
            return [dict.fromkeys(own, worth) for own, worth in zip(left_s, worths, strict=True)]
        policy, arrays = self.policy, SizeArrays(left_s)
        charged_J = np.array([1 + policy.margin if n_held(job) else 0.0 for job in jobs])
        restart_J = np.array([self._restart_s[job.id] for job in jobs])
        fetch_F = self._fetch_F(jobs, left_s, [self.gpu_type[job.id] for job in jobs])
        n_there_F = np.array([self._n_there[job.id] for job in jobs])[arrays.job_F]
        fetch_F *= charged_J[arrays.job_F]
        cost_F = restart_J[arrays.job_F] * charged_J[arrays.job_F] + fetch_F
        horizon_F = policy.horizon_s + FETCHING_PAYS * fetch_F
        train_F = np.maximum(flat(own.values() for own in left_s), 1e-9)
        changed_F = 1 - cost_F / np.maximum(np.minimum(horizon_F, train_F + cost_F), cost_F + 1e-9)
        worth_F = np.array([self.weights[job.id] for job in jobs])[arrays.job_F] / train_F
        worth_F *= np.where(arrays.size_F == n_there_F, 1 + policy.stickiness, changed_F)
        rows = arrays.rows(worth_F, np.ones(len(worth_F), dtype=np.bool_))
        return [dict(zip(own, row, strict=True)) for own, row in zip(left_s, rows, strict=True)]

    # jobs that are left alone

    def _calm_until_s(self, job: JobSnapshot) -> float:
        """When it has trained for about as long as its last change cost."""
        since_s = max(job.allocated_at_s or 0.0, job.last_resized_at_s or 0.0)
        return since_s + max(self.policy.cooldown_s, 2 * self.restart_s(job))

    def _is_near_its_end(self, job: JobSnapshot) -> bool:
        """Whether so little is left of a running job that a change is not worth it."""
        return self.present_left_s(job) < self.policy.last_stretch * self.restart_s(job)

    def _is_starved(self, job: JobSnapshot) -> bool:
        waited_s = self.view.now_s - self.waiting_since[job.id]
        return waited_s >= max(self.policy.patience_s, self.policy.patience * self.left_s(job, job.min_workers))


def _type_held(job: JobSnapshot, node_types: Mapping[str, str]) -> str:
    shares = job.held.shares if job.held is not None else ()
    return next((node_types.get(share.node, "") for share in shares if share.gpus), "")


def _with(sizes: tuple[int, ...], n_there: int) -> tuple[int, ...]:
    """n_there: 0 for none."""
    return tuple(sorted((*sizes, n_there))) if n_there and n_there not in sizes else sizes


@lru_cache(maxsize=1 << 12)
def _doubling(least: int, top: int, per_node: int) -> tuple[int, ...]:
    steps = set()
    n = 1
    while n <= top:
        steps.add(n)
        if n >= per_node and n % per_node == 0 and n % 2 == 0:
            steps.add(n * 3 // 2)
        n = min(n * 2, per_node) if n < per_node else n * 2
    return tuple(sorted({n for n in steps if least <= n <= top} | {least}))
