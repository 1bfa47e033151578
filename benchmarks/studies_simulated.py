# SPDX-License-Identifier: Apache-2.0
"""A study of 1,000 trials on a cluster with other jobs: what it costs them, and what a round costs.

    python -m benchmarks.studies_simulated

Rounds of the scheduler and steps of ASHA are those of the platform (scheduler.decide, next_step); the curves are the
recorded ones (benchmarks/study_curves.py), each used again with noise. Written to
benchmarks/results/studies-simulated.md.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mlhub.settings")

import json

from benchmarks.study_curves import RECORDED
from mlhub.experiments.algorithms.asha import rungs_of
from mlhub.experiments.algorithms.search import Algorithm, NewTrial, SearchRules, TrialRecord, TrialStatus, next_step
from mlhub.experiments.algorithms.space import RealRange, SearchSpace
from scheduler import (
    ClusterSnapshot,
    JobSnapshot,
    Keep,
    Launch,
    NodeSnapshot,
    Phase,
    RackSnapshot,
    RoundMemory,
    TenantSnapshot,
    decide,
    policy_named,
)
from scheduler.round.cache import RoundCache

RESULTS = Path(__file__).parent / "results" / "studies-simulated.md"
N_NODES, GPUS = 8, 8
N_TRIALS, N_PARALLEL, ETA, N_EPOCHS, EPOCH_S = 1000, 64, 2, 27, 60.0
N_OTHERS, HOURS = 150, 8.0
ROUND_S = 60.0
STEP_S = 0.1
SIZES = (10, 100, 1000)


@dataclass
class SimulatedStudy:
    """The trials' records and jobs. priority: of its jobs. counts_as_one: their snapshots name the study."""

    priority: int
    counts_as_one: bool
    records: dict[int, TrialRecord] = field(default_factory=dict)
    best: float = 0.0
    best_at_s: float = 0.0
    gpu_s: float = 0.0
    ended_at_s: float = 0.0

    def __post_init__(self) -> None:
        rng, curves = random.Random(2), json.loads(RECORDED.read_text())["digits"]["curves"]
        self.curves = [[v + rng.gauss(0, 0.002) for v in rng.choice(curves)] for _ in range(N_TRIALS)]
        self.rungs = rungs_of(least=1, most=N_EPOCHS, eta=ETA)
        space = SearchSpace({"x": RealRange(0, 1)})
        self.rules = SearchRules(Algorithm.ASHA, space, 0, self.rungs, ETA, max_trials=N_TRIALS, is_max=True)

    def begun(self, n_live: int) -> list[int]:
        """Trials that begin or are promoted now."""
        found = []
        while n_live + len(found) < N_PARALLEL:
            step = next_step(self.rules, list(self.records.values()))
            if step is None:
                break
            number, rung = (step.number, 0) if isinstance(step, NewTrial) else (step.trial, step.rung)
            values = self.records[number].values if number in self.records else ()
            self.records[number] = TrialRecord(number, {}, TrialStatus.RUNNING, rung, values)
            found.append(number)
        return found

    def reached(self, number: int, now_s: float) -> None:
        one = self.records[number]
        value = self.curves[number][self.rungs[one.rung] - 1]
        is_last = one.rung == len(self.rungs) - 1
        status = TrialStatus.COMPLETED if is_last else TrialStatus.WAITING
        self.records[number] = replace(one, status=status, values=(*one.values, value))
        self.ended_at_s = now_s
        if is_last and value > self.best:
            self.best, self.best_at_s = value, now_s


def steps_of(epochs: float) -> int:
    return round(epochs * EPOCH_S / STEP_S)


def job(name: str, *, tenant: str, gpus: int, length_s: float, at_s: float, **more: object) -> JobSnapshot:
    return JobSnapshot(
        id=name,
        tenant=tenant,
        submitted_at_s=at_s,
        steps_total=max(1, round(length_s / STEP_S)),
        batch_size=64,
        min_workers=gpus,
        max_workers=gpus,
        step_overhead_s=STEP_S,
        example_s=0.0,
        **more,  # type: ignore[arg-type]
    )


def others() -> list[JobSnapshot]:
    """Of the study's project (half of them) and of another one: they need about half of the cluster."""
    rng = random.Random(3)
    found = []
    for i in range(N_OTHERS):
        tenant, gpus = rng.choice(("vision", "speech")), rng.choice((1, 1, 2, 4, 8))
        at_s, length_s = rng.uniform(0, HOURS * 3600), min(4 * 3600.0, rng.lognormvariate(7.6, 1.0))
        found.append(job(f"o{i:03d}", tenant=tenant, gpus=gpus, length_s=length_s, at_s=at_s))
    return sorted(found, key=lambda one: one.submitted_at_s)


def trial_job(study: SimulatedStudy, number: int, *, done: float, now_s: float) -> JobSnapshot:
    named = {"study": "sweep", "study_name": "sweep"} if study.counts_as_one else {}
    length_s = study.rungs[study.records[number].rung] * EPOCH_S
    settings = {"priority": study.priority, **named}
    found = job(f"t{number:04d}", tenant="vision", gpus=1, length_s=length_s, at_s=now_s, **settings)
    return replace(found, family="trial", steps_done=done)


def cluster() -> tuple[NodeSnapshot, ...]:
    return tuple(NodeSnapshot(f"n{i}", "r0", "a100", GPUS, 256.0, 1 << 40, 1e11) for i in range(N_NODES))


def snapshot(jobs: list[JobSnapshot], now_s: float) -> ClusterSnapshot:
    tenants = (TenantSnapshot("vision"), TenantSnapshot("speech"))
    return ClusterSnapshot(now_s, cluster(), (RackSnapshot("r0", 1e12),), tuple(jobs), tenants)


def played(policy_name: str, study: SimulatedStudy | None) -> tuple[dict[str, float], list[float]]:
    """JCT of every other job, and seconds of each round. A stop and a start take no time; a trial keeps its steps."""
    policy, memory, cache = policy_named(policy_name, {}), RoundMemory(), RoundCache()
    coming, live, done = others(), {}, dict.fromkeys(range(N_TRIALS), 0.0)
    jct: dict[str, float] = {}
    costs: list[float] = []
    now_s = 0.0
    while coming or live or (study and not costs):
        while coming and coming[0].submitted_at_s <= now_s:
            arrived = coming.pop(0)
            live[arrived.id] = arrived
        if study is not None:
            for number in study.begun(sum(name.startswith("t") for name in live)):
                live[f"t{number:04d}"] = trial_job(study, number, done=done[number], now_s=now_s)
        began = time.process_time()
        plan = decide(snapshot(list(live.values()), now_s), policy=policy, memory=memory, explain=False, cache=cache)
        costs.append(time.process_time() - began)
        memory = plan.memory
        for decision in plan.decisions:
            one = live[decision.job]
            if isinstance(decision, Launch):
                held = {"allocated_at_s": now_s, "training_since_s": now_s}
                live[one.id] = replace(one, phase=Phase.RUNNING, allocation=decision.allocation, **held)
            elif one.held is not None and not isinstance(decision, Keep):
                live[one.id] = replace(one, phase=Phase.WAITING, allocation=None, allocated_at_s=None)
        now_s += ROUND_S
        for one in list(live.values()):
            if one.held is None:
                continue
            used_s = min(ROUND_S, (one.steps_total - one.steps_done) * STEP_S)
            steps = one.steps_done + used_s / STEP_S
            gpu_s = one.executed_gpu_s + used_s * one.held.n_workers
            live[one.id] = replace(one, steps_done=steps, executed_gpu_s=gpu_s)
            is_trial = one.id.startswith("t")
            if study is not None and is_trial:
                study.gpu_s += used_s
            if steps < one.steps_total - 1e-6:
                continue
            del live[one.id]
            if study is not None and is_trial:
                done[int(one.id[1:])] = steps
                study.reached(int(one.id[1:]), now_s)
            elif not is_trial:
                jct[one.id] = now_s - one.submitted_at_s
    return jct, costs


def cost_of_round(policy_name: str, n_trials: int) -> float:
    """Milliseconds of processor time of a round with so many trials, once everything is known (the best of three)."""
    study = SimulatedStudy(0, counts_as_one=True)
    study.records = {n: TrialRecord(n, {}, TrialStatus.RUNNING, 0, ()) for n in range(n_trials)}
    jobs = [trial_job(study, n, done=0.0, now_s=0.0) for n in range(n_trials)] + others()[:20]
    cache, found = RoundCache(), []
    for _ in range(3):
        began = time.process_time()
        decide(snapshot(jobs, HOURS * 3600), policy=policy_named(policy_name, {}), memory=RoundMemory(), cache=cache)
        found.append(time.process_time() - began)
    return 1000 * min(found)


HEAD = (
    "policy", "case", "JCT in the study's project", "JCT elsewhere", "GPU-hours of the study",
    "its best found after (hours)", "its end (hours)",
)  # fmt: skip
CASES = (
    ("no study", None),
    ("each trial as a job, priority 0", (0, False)),
    ("the study counts as one, priority 0", (0, True)),
    ("the study counts as one, priority -50 (default)", (-50, True)),
)
PAGE = """# A study of {n_trials} trials next to other jobs, simulated

`python -m benchmarks.studies_simulated`: {gpus} GPUs, {n_others} jobs of 1 to 8 GPUs that come in {hours:.0f} hours,
half of them in the study's project. The study runs ASHA (eta {eta}, {n_parallel} trials at a time, an epoch takes
{epoch_s:.0f} s) on the recorded curves of digits, each used again with noise. ASHA's steps and the rounds are those of
the platform; rounds come every {round_s:.0f} s, stops and starts take no time. JCT in minutes, mean over jobs.

{head}
|---|---|---|---|---|---|---|
{rows}

Milliseconds of processor time of one round, explanations included, as trials wait next to 20 other jobs (the machine
also did other work):

| policy | {sizes} |
|---|{lines}
{costs}
"""


def main() -> None:
    rows, costs = [], []
    tenant_of = {one.id: one.tenant for one in others()}
    for policy in ("mlhub", "fifo"):
        for name, setting in CASES:
            study = None if setting is None else SimulatedStudy(setting[0], counts_as_one=setting[1])
            jct, _ = played(policy, study)
            means = [statistics.mean(s for j, s in jct.items() if tenant_of[j] == t) / 60 for t in ("vision", "speech")]
            cells = [f"{mean:.0f}" for mean in means]
            cells += ["", "", ""] if study is None else [
                f"{study.gpu_s / 3600:.0f}", f"{study.best_at_s / 3600:.1f}", f"{study.ended_at_s / 3600:.1f}",
            ]  # fmt: skip
            rows.append(f"| {policy} | {name} | {' | '.join(cells)} |")
            print(rows[-1], flush=True)
        costs.append(f"| {policy} | {' | '.join(f'{cost_of_round(policy, n):.0f}' for n in SIZES)} |")
        print(costs[-1], flush=True)
    page = PAGE.format(
        head=f"| {' | '.join(HEAD)} |",
        n_trials=f"{N_TRIALS:,}", gpus=N_NODES * GPUS, n_others=N_OTHERS, hours=HOURS, eta=ETA, n_parallel=N_PARALLEL,
        epoch_s=EPOCH_S, round_s=ROUND_S, rows="\n".join(rows), sizes=" | ".join(f"{n:,} trials" for n in SIZES),
        lines="---|" * len(SIZES), costs="\n".join(costs),
    )  # fmt: skip
    RESULTS.write_text(page)


if __name__ == "__main__":
    main()
