# SPDX-License-Identifier: Apache-2.0
"""What a busy cluster is made of: three kinds of nodes in racks, tenants with quotas, families, jobs drawn by
chance.

Sizes and lengths have the heavy tails of measured traces: most jobs are small, most GPU time goes to large ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.api.plan import Reason
from scheduler.api.snapshot import JobSnapshot, TenantSnapshot
from scheduler.api.topology import NodeSnapshot, RackSnapshot

DEMAND = 2.0  # GPUs asked for by all live jobs, over those there are
LARGEST = 64
HALF_LIFE_S = 4 * 3600.0  # of use, where tenants share fairly
JOBS_OF_A_FAMILY = 20
KINDS = (("v100", 8, 1.0, 0.5), ("a100", 8, 0.45, 0.3), ("t4", 4, 2.2, 0.2))  # type, GPUs, slowness, part of the racks


def busy_nodes(n_gpus: int) -> tuple[tuple[NodeSnapshot, ...], tuple[RackSnapshot, ...]]:
    """Returns the nodes of 8 or 4 GPUs, n_gpus in all, at most 16 a rack; an uplink has a quarter of its NICs'
    bandwidth.
    """
    per_rack = max(1, min(16, n_gpus // 32))
    nodes: list[NodeSnapshot] = []
    racks: list[RackSnapshot] = []
    left = n_gpus
    shares = np.cumsum([part for *_, part in KINDS])
    while left > 0:
        kind, n_of_node, _, _ = KINDS[int(np.searchsorted(shares, (len(racks) * 0.618) % 1.0, side="right"))]
        rack = RackSnapshot(f"r{len(racks)}", per_rack * 25e9 / 4)
        for _ in range(per_rack):
            n = min(n_of_node, left)
            if n:
                nodes.append(NodeSnapshot(f"n{len(nodes)}", rack.name, kind, n, 12.0 * n, n << 36, 25e9))
            left -= n
        racks.append(rack)
    return tuple(nodes), tuple(racks)


def busy_tenants(n_gpus: int, n_jobs: int, *, shares_fairly: bool = False) -> tuple[TenantSnapshot, ...]:
    """Returns three organisations of four teams each; each limit binds now and then.

    shares_fairly: an eighth of the GPUs is guaranteed to each organisation, and all others go by turns, by weight and
    by what was used in the last hours, among them and among their teams.
    """
    root = [TenantSnapshot("all", shares_fairly=True, half_life_s=HALF_LIFE_S)] if shares_fairly else []
    tenants = list(root)
    for i in range(3):
        tenants.append(
            TenantSnapshot(
                f"org{i}",
                parent="all" if root else None,
                max_gpus=(None, n_gpus // 2, n_gpus // 4)[i],
                weight=1.0 + i,
                guarantee=n_gpus // 8 if root else None,
                shares_fairly=shares_fairly,
                half_life_s=HALF_LIFE_S if root else 0.0,
            )
        )
        for k in range(4):
            tenants.append(
                TenantSnapshot(
                    f"org{i}-team{k}",
                    parent=f"org{i}",
                    max_gpus=max(8, n_gpus // 8) if k == 1 else None,
                    max_running_jobs=max(2, n_jobs // 16) if k == 2 else None,
                )
            )
    return tuple(tenants)


@dataclass(frozen=True)
class BusyFamily:
    """Holds the truth of a family as factors on the prior, which the profile gives: compute and sync."""

    name: str
    batch_size: int
    example_s: float
    overhead_s: float
    parameters_bytes: int
    start_s: float
    noise_scale: float | None
    compute: float
    sync: float


class Mix:
    """Draws jobs, one after the other."""

    def __init__(
        self,
        *,
        n_gpus: int,
        n_jobs: int,
        tenants: Sequence[TenantSnapshot],
        nodes: Sequence[NodeSnapshot],
        random: np.random.Generator,
    ) -> None:
        self._random = random
        parents = {tenant.parent for tenant in tenants}
        self._teams = [tenant.id for tenant in tenants if tenant.id not in parents]
        self._types = sorted({node.gpu_type for node in nodes})
        self._families = [self._family(i) for i in range(max(8, n_jobs // JOBS_OF_A_FAMILY))]
        self._by_name = {family.name: family for family in self._families}
        self._slowness = {kind: slowness for kind, _, slowness, _ in KINDS}
        largest = min(LARGEST, max(1, n_gpus // 4))
        self._sizes = 2 ** np.arange(int(np.log2(largest)) + 1)
        self._odds = _odds(self._sizes, mean=DEMAND * n_gpus / n_jobs)
        self._n_drawn = 0

    def job(self, *, submitted_at_s: float) -> JobSnapshot:
        """Returns a new job.

        Half of the jobs are elastic, from a quarter to four times their size; a fifth wants one type of GPU.
        """
        random = self._random
        family = self._families[int(random.integers(len(self._families)))]
        size = int(random.choice(self._sizes, p=self._odds))
        is_elastic = random.random() < 0.5
        length_s = float(np.clip(random.lognormal(np.log(3600.0), 1.2), 120.0, 7 * 86400.0))
        step_s = family.overhead_s + family.example_s * family.batch_size / size
        self._n_drawn += 1
        return JobSnapshot(
            id=f"j{self._n_drawn:07d}",
            tenant=self._teams[int(random.integers(len(self._teams)))],
            submitted_at_s=submitted_at_s,
            steps_total=max(10, int(length_s / step_s)),
            batch_size=family.batch_size,
            family=family.name,
            priority=int(random.random() < 0.05),
            min_workers=max(1, size // 4) if is_elastic else size,
            max_workers=min(LARGEST, 4 * size) if is_elastic else size,
            requested_workers=size,
            cpus_per_worker=float(random.choice([2.0, 4.0, 8.0])),
            memory_per_worker_bytes=int(random.choice([8, 16, 32])) << 30,
            memory_per_server_bytes=2 << 30,
            parameters_bytes=family.parameters_bytes,
            example_s=family.example_s,
            step_overhead_s=family.overhead_s,
            start_s=family.start_s,
            checkpoint_s=5.0,
            hold=Reason.PREFLIGHT.value,
            gpu_types=(self._types[int(random.integers(len(self._types)))],) if random.random() < 0.2 else (),
            max_batch_size=None if family.noise_scale is None else 8 * family.batch_size,
            max_local_batch=None if family.noise_scale is None else family.batch_size,
            noise_scale=family.noise_scale,
        )

    def truth_of(self, job: JobSnapshot, gpu_type: str) -> tuple[float, float]:
        """Returns the factors on the prior's computation and synchronisation."""
        family = self._by_name[job.family]
        return family.compute * self._slowness.get(gpu_type, 1.0), family.sync

    def _family(self, number: int) -> BusyFamily:
        """A tenth of the families allows larger batches."""
        random = self._random
        batch_size = int(random.choice([64, 128, 256, 512]))
        return BusyFamily(
            name=f"f{number}",
            batch_size=batch_size,
            example_s=float(random.lognormal(np.log(0.002), 0.8)),
            overhead_s=float(random.uniform(0.005, 0.03)),
            parameters_bytes=int(random.lognormal(np.log(2e8), 1.0)),
            start_s=float(random.uniform(10.0, 90.0)),
            noise_scale=float(batch_size * random.uniform(1.0, 20.0)) if number % 10 == 9 else None,
            compute=float(random.lognormal(0.0, 0.2)),
            sync=float(random.lognormal(0.2, 0.3)),
        )


def _odds(sizes: np.ndarray, *, mean: float) -> np.ndarray:
    """Probabilities that fall with a power of the size so that the mean is as wished, as far as the sizes allow."""
    low, high = -4.0, 4.0
    for _ in range(60):
        middle = (low + high) / 2
        rates = sizes.astype(float) ** -middle
        rates /= rates.sum()
        low, high = (middle, high) if float(rates @ sizes) > mean else (low, middle)
    return rates
