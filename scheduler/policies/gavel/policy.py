# SPDX-License-Identifier: Apache-2.0
"""Gavel: parts of the time on each type of GPU by a linear program, kept by rounds; after OSDI '20."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import JobSnapshot
from scheduler.policies.gavel.linear_programs import OBJECTIVES
from scheduler.policies.gavel.time_shares import Members, TimeShares
from scheduler.policies.toolkit.policy import Grant, Proposal, View, longest_run_first, n_held
from scheduler.quota.budget import Budget


@dataclass(frozen=True)
class Gavel:
    """Shares types of GPU with regard to their speeds (Narayanan et al., OSDI '20): jobs of fixed size take turns on
    them.

    objective: max_min_fairness, makespan, min_total_jct or finish_time_fairness, see linear_programs.py. The last three
    know the lengths of jobs, the first only their speeds.
    round_s: between the ends of two rounds no running job is disturbed. At the end of one, the program is solved again
    if jobs came or went, and GPUs go to the jobs and types that had least of what they were to have (sec. 5.2):
    priority = time due / time had. A job without a part on a type comes last there, so that no GPU idles.
    space_sharing: pairs that gain by it are columns of the program, too, and take turns like jobs (sec. 3.1); what is
    not known of a pair is predicted, as for every policy.
    Deviation: time due is summed up over all programs since the job came, where Gavel starts anew with each program;
    what was missed under an earlier one is not lost.
    """

    objective: str = "max_min_fairness"
    round_s: float = 360.0
    space_sharing: bool = False
    name: str = "gavel"

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise ValueError(f"parameter 'objective' of policy 'gavel' must be one of {', '.join(OBJECTIVES)}")

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal:
        """Returns the proposal, in four steps.

        1. book the time had and due; 2. at a round's end solve the program; 3. confirm running jobs inside a round;
        4. serve by priority.
        """
        jobs = sorted(view.jobs, key=lambda job: (job.submitted_at_s, job.id))
        rounds = TimeShares(view, memory, shares_gpus=self.space_sharing)  # 1
        turns = _Turns(jobs, rounds, budget)
        if view.now_s >= rounds.ends_s - 1e-6:
            rounds.ends_s = view.now_s + self.round_s
            rounds.solve(self.objective, jobs)  # 2
        else:
            turns.confirm()  # 3
        line = rounds.line(jobs)
        for members, gpu_type in line:  # 4
            turns.serve(members, gpu_type)
        order = list(dict.fromkeys(job_id for members, _ in line for job_id in members))
        present = {job.id: job for job in jobs}
        is_wanted = len(turns.grants) < len(jobs) or len(rounds.types) > 1
        return Proposal(
            tuple(turns.in_order(order)),
            tuple(order),
            {i: (turns.ended(present[i]),) for i in order if n_held(present[i]) and i not in turns.grants},
            rounds.memory(),
            wake_at_s=rounds.ends_s if is_wanted and jobs else None,
        )


class _Turns:
    """Gives GPUs to jobs and pairs. grants: by job; a guest's is placed after its host's."""

    def __init__(self, jobs: Sequence[JobSnapshot], rounds: TimeShares, budget: Budget) -> None:
        self.jobs = {job.id: job for job in jobs}
        self.rounds, self.budget = rounds, budget
        self.grants: dict[str, Grant] = {}

    def confirm(self) -> None:
        """Running jobs stay, co-located as they are, also with one that just starts or leaves."""
        hosts: set[Members] = set()
        for job in sorted((job for job in self.jobs.values() if n_held(job)), key=longest_run_first):
            members, gpu_type = self.rounds.on[job.id]
            others = tuple(one for one in members if one in self.grants or one not in self.jobs)
            if others and self.budget.reserve_colocated(job, n_held(job), gpu_type=gpu_type):
                self._grant(job, members, gpu_type, colocated_with=others[:1])
            elif members not in hosts and self.budget.reserve(job, n_held(job)):
                hosts.add(members)
                self._grant(job, members, self.budget.gpu_type(job))

    def serve(self, members: Members, gpu_type: str) -> None:
        """All of them, if none was served yet."""
        if any(one in self.grants for one in members):
            return
        n = self.jobs[members[0]].fixed_workers
        host, *guests = sorted((self.jobs[one] for one in members), key=lambda job: (not n_held(job), job.id))
        if not self.budget.reserve(host, n, gpu_type=gpu_type):
            return
        self._grant(host, members, gpu_type)
        for guest in guests:
            if self.budget.reserve_colocated(guest, n, gpu_type=gpu_type):
                self._grant(guest, members, gpu_type, colocated_with=(host.id,))

    def in_order(self, order: Sequence[str]) -> list[Grant]:
        """Guests last: their hosts are placed before them."""
        granted = [self.grants[job_id] for job_id in order if job_id in self.grants]
        return sorted(granted, key=lambda grant: bool(grant.colocated_with))

    def ended(self, job: JobSnapshot) -> Explanation:
        return Explanation(Reason.ROUND_ENDED, {"percent": self.rounds.percent_had(job)})

    def _grant(self, job: JobSnapshot, members: Members, gpu_type: str, colocated_with: Members = ()) -> None:
        n = self.budget.granted(job)
        self.grants[job.id] = Grant(
            job.id, n, gpu_type, (self._why(job, members, gpu_type),), colocated_with=colocated_with
        )

    def _why(self, job: JobSnapshot, members: Members, gpu_type: str) -> Explanation:
        others = [one for one in members if one != job.id]
        if others:
            norms = self.rounds.norms(job, self.rounds.present[others[0]], gpu_type) or (1.0,)
            facts = {"n_workers": self.budget.granted(job), "partners": ", ".join(others), "times": sum(norms)}
            return Explanation(Reason.COLOCATED, facts)
        due, had = self.rounds.percent_due((members, gpu_type)), self.rounds.percent_had(job)
        return Explanation(Reason.OPTIMAL_SHARE, {"gpu_type": gpu_type or "any", "percent": due, "had": had})
