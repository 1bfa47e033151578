# SPDX-License-Identifier: Apache-2.0
"""Trains the network of the dl2 policy: imitation of a heuristic, then reinforcement in the simulator.

    python -m benchmarks.train_dl2 --out scheduler/policies/dl2/weights.npz

Made-up elastic jobs only, drawn by seed: their lengths are log-normal, their speed-ups follow Amdahl's law. The same
seed gives the same weights on the same versions of numpy and torch. After Peng et al., DL2 (2019). Deviation: the
advantage of a run is against the other runs on the same jobs, in place of a learned critic.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import nn

from scheduler.api.arrays import Floats
from scheduler.api.snapshot import JobSnapshot
from scheduler.policies.dl2.network import SHAPES, Weights, checked, logits
from scheduler.policies.dl2.policy import Dl2
from scheduler.simulator import simulate
from scheduler.simulator.environments.counting import CountingEnvironment
from scheduler.simulator.environments.environment import SimulatedGang
from scheduler.simulator.reports.summary import summary
from scheduler.simulator.traces.clusters import uniform_cluster
from scheduler.simulator.traces.trace import Trace, TraceJob

N_JOBS, N_NODES, PER_NODE = 24, 4, 4
N_RUNS = 4  # on the same jobs, compared with each other
TrainingStep = tuple[Floats, Floats, int]  # features (J, F), mask (J + 1,), what was done


class AmdahlWorld(CountingEnvironment):
    """Elastic jobs, a part of whose step does not get shorter with more workers."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._fixed = {f"j{i}": float(part) for i, part in enumerate(rng.choice([0.0, 0.05, 0.15, 0.4], N_JOBS))}
        at_s = np.cumsum(rng.exponential(240.0, N_JOBS))
        lengths = np.exp(rng.normal(8.0, 1.2, N_JOBS))
        jobs = tuple(
            TraceJob(f"j{i}", float(at_s[i]), 1, float(lengths[i]), min_gpus=1, max_gpus=int(rng.choice([1, 4, 8, 16])))
            for i in range(N_JOBS)
        )
        super().__init__(Trace("made up", "mlhub", jobs), uniform_cluster(n_nodes=N_NODES, n_gpus=PER_NODE))

    def step_s(self, gang: SimulatedGang, others: object) -> float:  # noqa: ARG002
        job, part = self._jobs[gang.job.id], self._fixed[gang.job.id]
        alone_s = job.duration_s / gang.job.steps_total
        return alone_s * (part + (1 - part) / gang.allocation.n_workers)

    def _snapshot(self, job: TraceJob) -> JobSnapshot:
        snapshot, part = super()._snapshot(job), self._fixed[job.id]
        step_s = job.duration_s / snapshot.steps_total
        values = {"step_overhead_s": part * step_s, "example_s": (1 - part) * step_s / snapshot.batch_size}
        return JobSnapshot(**(vars(snapshot) | values))


@dataclass(frozen=True)
class Recording(Dl2):
    """Draws its actions, or does as the teacher, and keeps what it saw and did."""

    given: Weights = field(default_factory=dict)
    rng: np.random.Generator = field(default_factory=np.random.default_rng)
    steps: list[TrainingStep] = field(default_factory=list)
    is_taught: bool = False

    def weights(self) -> Weights:
        return self.given

    def act(self, features_JF: Floats, mask: Floats, scores: Floats) -> int:
        if self.is_taught:
            done = teacher(features_JF, mask)
        else:
            chances = np.exp(scores + mask - (scores + mask).max())
            done = int(self.rng.choice(len(chances), p=chances / chances.sum()))
        self.steps.append((features_JF.copy(), mask.copy(), done))
        return done


def teacher(features_JF: Floats, mask: Floats) -> int:
    """The least remaining GPU-time first; when all run, the most time saved a GPU (as Optimus), if it is a tenth."""
    had, saved = features_JF[:, 1], features_JF[:, 6]
    extra = np.maximum(2 ** (6 * features_JF[:, 3]) - 1, 1.0)
    open_J = np.isfinite(mask[:-1])
    if (open_J & (had == 0)).any():
        return int(np.argmin(np.where(open_J & (had == 0), features_JF[:, 5], np.inf)))
    gain = np.where(open_J & (saved >= 0.1), saved * np.expm1(15 * features_JF[:, 4]) / extra, -np.inf)
    return int(np.argmax(gain)) if np.isfinite(gain).any() else len(had)


class Net(nn.Module):
    """The network of scheduler/policies/dl2/network.py, padded over steps: features (S, J, F) to logits (S, J + 1)."""

    def __init__(self) -> None:
        super().__init__()
        for name, shape in SHAPES.items():
            bound = 0.0 if name.endswith("_b") else (6 / sum(shape)) ** 0.5
            self.register_parameter(name, nn.Parameter((torch.rand(shape, dtype=torch.float64) * 2 - 1) * bound))

    def forward(self, features: torch.Tensor, is_job: torch.Tensor) -> torch.Tensor:
        seen = torch.relu(features @ self.seen_w + self.seen_b) * is_job[..., None]
        pooled = seen.sum(1) / is_job.sum(1, keepdim=True)
        both = torch.cat([seen, pooled[:, None].expand_as(seen)], dim=2)
        score = (torch.relu(both @ self.mixed_w + self.mixed_b) @ self.score_w + self.score_b)[..., 0]
        return torch.cat([score, pooled @ self.stop_w + self.stop_b], dim=1)

    def arrays(self) -> Weights:
        return checked({name: value.detach().numpy().copy() for name, value in self.named_parameters()})


def log_chances(net: Net, steps: list[TrainingStep]) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-likelihood of what was done at each step, and the entropy there; each of shape (S,)."""
    most = max(len(features) for features, _, _ in steps)
    seen = np.zeros((len(steps), most, steps[0][0].shape[1]))
    is_job = np.zeros((len(steps), most))
    masks = np.full((len(steps), most + 1), -np.inf)
    done = np.zeros(len(steps), dtype=np.int64)
    for s, (features, mask, action) in enumerate(steps):
        n = len(features)
        seen[s, :n], is_job[s, :n] = features, 1.0
        masks[s, :n], masks[s, -1] = mask[:-1], mask[-1]
        done[s] = most if action == n else action
    scores = net(torch.tensor(seen), torch.tensor(is_job)) + torch.tensor(masks)
    logs = torch.log_softmax(scores, dim=1)
    entropy = -(logs.exp() * logs.clamp(min=-50)).sum(1)
    return logs.gather(1, torch.tensor(done)[:, None])[:, 0], entropy


def played(weights: Weights, *, seed: int, draw: int, is_taught: bool = False) -> tuple[float, list[TrainingStep]]:
    """Average completion time in seconds, and every step."""
    policy = Recording(given=weights, rng=np.random.default_rng([seed, draw]), is_taught=is_taught)
    world = AmdahlWorld(np.random.default_rng(seed))
    figures = summary(simulate(world, policy=policy), nodes=world.nodes)
    return float(figures["avg_jct_s"]), policy.steps


def likeliest(weights: Weights, *, seeds: range) -> float:
    """Mean completion time over made-up sets of jobs without drawing, in seconds."""

    @dataclass(frozen=True)
    class Fixed(Dl2):
        def weights(self) -> Weights:
            return weights

    worlds = [AmdahlWorld(np.random.default_rng(seed)) for seed in seeds]
    return float(np.mean([summary(simulate(w, policy=Fixed()), nodes=w.nodes)["avg_jct_s"] for w in worlds]))


def imitate(net: Net, *, n_sets: int, n_epochs: int) -> None:
    """Supervised: the likelihood of the teacher's actions."""
    steps = [step for seed in range(n_sets) for step in played(net.arrays(), seed=seed, draw=0, is_taught=True)[1]]
    optimiser = torch.optim.Adam(net.parameters(), lr=3e-3)
    rng = np.random.default_rng(0)
    for _ in range(n_epochs):
        order = rng.permutation(len(steps))
        for start in range(0, len(order), 512):
            logs, _ = log_chances(net, [steps[i] for i in order[start : start + 512]])
            optimiser.zero_grad()
            (-logs.mean()).backward()
            optimiser.step()


def reinforce(net: Net, *, n_rounds: int, validation: range) -> Weights:
    """Policy gradient; returns the best weights seen on the validation sets, which are of other seeds."""
    optimiser = torch.optim.Adam(net.parameters(), lr=3e-4)
    best = net.arrays()
    best_s = likeliest(best, seeds=validation)
    print(f"imitation: {best_s:.0f} s; the teacher: {taught_s(validation):.0f} s", flush=True)
    for number in range(n_rounds):
        weights = net.arrays()
        runs = [played(weights, seed=10_000 + number, draw=draw) for draw in range(N_RUNS)]
        times = np.array([avg_s for avg_s, _ in runs])
        losses = []
        for avg_s, steps in runs:
            logs, entropy = log_chances(net, steps)
            advantage = float((times.mean() - avg_s) / (times.std() + 1e-9))
            losses.append(-(advantage * logs + 1e-3 * entropy).mean())
        optimiser.zero_grad()
        torch.stack(losses).mean().backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        if number % 20 == 19:
            now_s = likeliest(net.arrays(), seeds=validation)
            print(f"round {number + 1}: {now_s:.0f} s", flush=True)
            if now_s < best_s:
                best, best_s = net.arrays(), now_s
    return best


def taught_s(seeds: range) -> float:
    unused = {name: np.zeros(shape) for name, shape in SHAPES.items()}
    return float(np.mean([played(unused, seed=seed, draw=0, is_taught=True)[0] for seed in seeds]))


def largest_difference(net: Net, weights: Weights) -> float:
    """Between the forward passes of torch and numpy, over drawn states."""
    rng = np.random.default_rng(1)
    found = 0.0
    for n in (1, 2, 7, 30):
        features = rng.random((n, SHAPES["seen_w"][0]))
        ours = logits(features, weights)
        theirs = net(torch.tensor(features)[None], torch.ones((1, n), dtype=torch.float64))[0].detach().numpy()
        found = max(found, float(np.abs(ours - theirs).max()))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help="where the weights go (.npz)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sets", type=int, default=24, help="sets of jobs on which the teacher is watched")
    parser.add_argument("--rounds", type=int, default=60, help="of reinforcement, four simulations each")
    arguments = parser.parse_args()
    began_s = time.perf_counter()
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)
    net = Net()
    imitate(net, n_sets=arguments.sets, n_epochs=20)
    best = reinforce(net, n_rounds=arguments.rounds, validation=range(5_000, 5_012))
    held_out = range(7_000, 7_020)
    print(f"held out: trained {likeliest(best, seeds=held_out):.0f} s, the teacher {taught_s(held_out):.0f} s")
    net.load_state_dict({name: torch.tensor(value) for name, value in best.items()})
    difference = largest_difference(net, best)
    if difference > 1e-9:
        raise SystemExit(f"numpy and torch differ by {difference:g}; the two forward passes must be the same")
    np.savez_compressed(arguments.out, **{name: value.astype(np.float32) for name, value in best.items()})
    print(f"{arguments.out}: {time.perf_counter() - began_s:.0f} s; numpy and torch differ by {difference:.1e}")


if __name__ == "__main__":
    main()
