# SPDX-License-Identifier: Apache-2.0
"""The environments by name, as command line and benchmarks make them from files. The registry below is the whole list.

An environment shows what the policy may know: a policy is compared within its class of information only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatch
from functools import partial

from scheduler.policies import Abilities, abilities_of
from scheduler.policies.loading import load_policy_class
from scheduler.simulator.environments.counting import CountingEnvironment
from scheduler.simulator.environments.environment import Environment
from scheduler.simulator.environments.muri import MuriEnvironment, read_restarts
from scheduler.simulator.environments.network import NetworkEnvironment
from scheduler.simulator.environments.pollux import PERIOD_S, PolluxEnvironment
from scheduler.simulator.environments.pollux_adaptive import AdaptivePolluxEnvironment
from scheduler.simulator.environments.pollux_tables import read_applications
from scheduler.simulator.environments.sharing import SharingEnvironment
from scheduler.simulator.traces.clusters import Cluster
from scheduler.simulator.traces.gavel_tables import SharingTables, read_sharing
from scheduler.simulator.traces.gpu_speeds import GpuSpeeds
from scheduler.simulator.traces.tenants import tenants_of
from scheduler.simulator.traces.trace import BadInput, Trace


class Information(StrEnum):
    """Names what the scheduler knows of the length of jobs. DURATIONS: it knows true speeds, too."""

    DURATIONS = "durations"
    DECLARED = "declared"
    NONE = "none"


@dataclass(frozen=True)
class Data:
    """Names the files of a folder of measured profiles, and how to read one."""

    name: str
    files: Sequence[str]
    read: Callable[[str], str]

    def matching(self, pattern: str) -> dict[str, str]:
        """Returns the texts of matching files by name. Raises BadInput if there is none."""
        found = {file: self.read(file) for file in sorted(self.files) if fnmatch(file, pattern)}
        if not found:
            raise BadInput(self.name, None, f"there is no {pattern} in it; give the folder of the profiles")
        return found


@dataclass(frozen=True)
class Setting:
    """Holds what an environment is made of. policy: its name or module:Class; environments act on its abilities."""

    trace: Trace
    cluster: Cluster
    policy: str
    information: Information | None = None  # None: as the policy's authors had it
    data: Data | None = None
    seed: int = 0
    gpu_speeds: GpuSpeeds | None = None

    def __post_init__(self) -> None:
        """Raises BadInput for a job that could never run."""
        by_type: dict[str, int] = {}
        for node in self.cluster.nodes:
            by_type[node.gpu_type] = by_type.get(node.gpu_type, 0) + node.n_gpus
        most = max(by_type.values())
        for job in self.trace.jobs:
            if job.n_gpus > most:
                there = f"{most} of one type" if len(by_type) > 1 else str(most)
                problem = f"job {job.id!r} needs {job.n_gpus} GPUs, but {self.cluster.name} has {there}"
                raise BadInput(self.trace.name, job.row, f"{problem}; take the job out, or use a larger cluster")
        tenants_of(self.trace, self.cluster.tenants, cluster=self.cluster.name)

    @property
    def abilities(self) -> Abilities:
        """Returns the abilities of the policy."""
        return abilities_of(load_policy_class(self.policy))

    def speeds_for(self, environment: str) -> GpuSpeeds | None:
        """Returns the speeds of the cluster's GPU types, for an environment whose times are those of one type.

        Raises BadInput where there are several types and no speeds, or none of one of them.
        """
        types = self._gpu_types()
        if self.gpu_speeds is None and len(types) > 1:
            remedy = "give their speeds as --gpu-speeds"
            raise BadInput(self.cluster.name, None, f"{_of_one_type(environment, types)}; {remedy}")
        if self.gpu_speeds is not None:
            self.gpu_speeds.check(types, (job.model for job in self.trace.jobs))
        return self.gpu_speeds

    def check_one_type(self, environment: str) -> None:
        """Checks the GPUs for an environment of one type. Raises BadInput for several types, or speeds of types."""
        types = self._gpu_types()
        if len(types) > 1:
            problem = f"{_of_one_type(environment, types)}; use nodes of one type, or another environment"
            raise BadInput(self.cluster.name, None, problem)
        self.check_no_speeds(environment)

    def check_no_speeds(self, environment: str) -> None:
        """Checks the options. Raises BadInput for speeds that the environment would not use."""
        if self.gpu_speeds is not None:
            problem = f"the {environment} environment has no use for --gpu-speeds; leave it out"
            raise BadInput(self.gpu_speeds.name, None, problem)

    def _gpu_types(self) -> list[str]:
        return sorted({node.gpu_type for node in self.cluster.nodes if node.n_gpus})

    def needed_data(self, environment: str) -> Data:
        """Returns the folder of measured profiles. Raises BadInput if none was given."""
        if self.data is None:
            raise BadInput(
                self.trace.name,
                None,
                f"the {environment} environment needs profiles; give their folder as --data",
            )
        return self.data


@dataclass(frozen=True)
class EnvironmentKind:
    """Describes an environment.

    period_s: the rounds of that environment's authors; None means a round at every event.
    """

    make: Callable[[Setting], Environment]
    period_s: float | None = None


def _of_one_type(environment: str, types: Sequence[str]) -> str:
    return f"the {environment} environment has times of one GPU type, but the cluster has {', '.join(types)}"


def _counting(setting: Setting) -> Environment:
    for job in setting.trace.jobs:
        if job.duration_s <= 0:
            raise BadInput(
                setting.trace.name, job.row, f"job {job.id!r} has no duration; the counting environment needs one"
            )
    return CountingEnvironment(
        setting.trace,
        setting.cluster,
        tenants=tenants_of(setting.trace, setting.cluster.tenants, cluster=setting.cluster.name),
        knows_durations=setting.information is not Information.NONE,
        gpu_speeds=setting.speeds_for("counting"),
    )


def _pollux(setting: Setting) -> Environment:
    if setting.trace.format != "pollux":
        raise BadInput(setting.trace.name, 1, "the pollux environment replays Pollux' own workloads only")
    data = setting.needed_data("pollux")
    speeds = setting.speeds_for("pollux")
    applications = read_applications(data.matching("traces/*/*.csv"), name=data.name)
    if setting.abilities.adapts_batch_size and setting.information in (None, Information.DECLARED):
        shares = not setting.abilities.knows_own_job_only
        return AdaptivePolluxEnvironment(
            setting.trace, setting.cluster, applications, shares_families=shares, gpu_speeds=speeds
        )
    knows = setting.information is Information.DURATIONS or (
        setting.information is None and setting.abilities.knows_true_speeds
    )
    return PolluxEnvironment(setting.trace, setting.cluster, applications, knows_table=knows, gpu_speeds=speeds)


def _network(setting: Setting) -> Environment:
    if setting.trace.format not in ("muri", "mlhub"):
        raise BadInput(
            setting.trace.name, 1, "the network environment needs iterations: a trace in Muri's or MLHub's format"
        )
    setting.check_one_type("network")
    return NetworkEnvironment(
        setting.trace,
        setting.cluster,
        tenants=tenants_of(setting.trace, setting.cluster.tenants, cluster=setting.cluster.name),
        seed=setting.seed,
        is_elastic=setting.trace.format == "muri",
        knows_lengths=setting.information is not Information.NONE,
        knows_speeds=setting.information is Information.DURATIONS,
    )


def _muri(setting: Setting, *, as_published: bool = True) -> Environment:
    if setting.trace.format != "muri":
        raise BadInput(setting.trace.name, 1, "the muri environment needs stage profiles: a trace in Muri's format")
    setting.check_one_type("muri")
    data = setting.needed_data("muri")
    (name, text), *_ = data.matching("*restart_overhead_s.csv").items()
    return MuriEnvironment(
        setting.trace,
        setting.cluster,
        read_restarts(text, name=name),
        as_published=as_published,
        opportunistic=setting.abilities.is_opportunistic,
        knows_lengths=setting.information is not Information.NONE,
        tenants=tenants_of(setting.trace, setting.cluster.tenants, cluster=setting.cluster.name),
    )


def sharing_tables(data: Data) -> SharingTables:
    """Returns the tables of the folder's files. Raises BadInput for files that are missing or cannot be used."""
    isolated, *_ = data.matching("*isolated.csv").items()
    return read_sharing(isolated, tuple(data.matching("*colocated_pairs*.csv").items()), name=data.name)


def _sharing(setting: Setting) -> Environment:
    """Policies that know true speeds know pairs, too; the others find out by trying."""
    setting.check_no_speeds("sharing")
    return SharingEnvironment(
        setting.trace,
        setting.cluster,
        sharing_tables(setting.needed_data("sharing")),
        knows_lengths=setting.information is not Information.NONE,
        knows_pairs=setting.information is Information.DURATIONS,
        tenants=tenants_of(setting.trace, setting.cluster.tenants, cluster=setting.cluster.name),
    )


ENVIRONMENTS: Mapping[str, EnvironmentKind] = {
    "counting": EnvironmentKind(_counting),
    "muri": EnvironmentKind(_muri),
    "muri-clean": EnvironmentKind(partial(_muri, as_published=False)),
    "network": EnvironmentKind(_network),
    "pollux": EnvironmentKind(_pollux, PERIOD_S),
    "sharing": EnvironmentKind(_sharing),
}
