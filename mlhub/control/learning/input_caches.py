# SPDX-License-Identifier: Apache-2.0
"""What jobs read, how much of it the caches of nodes hold, and how fast pods fetch the rest."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any
from uuid import UUID

from mlhub.clusters.models import CachedInput, Node
from mlhub.datasets.models import DatasetVersion
from mlhub.jobs.models import Job
from mlhub.registry.models import ModelVersion
from scheduler.api.topology import FETCH_BPS, InputSet

SLOWEST_BPS, FASTEST_BPS = 1e5, 1e12  # that are believed
OF_CODE = [
    f"{owner}{blob}__{column}"
    for owner in ("", "code_version__")
    for blob in ("package", "weights", "environment__layer")
    for column in ("sha256", "size_bytes")
]

Sizes = dict[str, int]  # bytes by hash


@dataclass(frozen=True)
class InputCaches:
    """keys: of the InputSet of a job, by job; there are none where no node has a cache of its own."""

    keys: Mapping[UUID, str] = field(default_factory=dict)
    sets: tuple[InputSet, ...] = ()
    fetch_bps: float = FETCH_BPS


def input_caches(jobs: Iterable[Job]) -> InputCaches:
    """jobs: also ones that were never saved. Four queries, or one where no node has a cache of its own."""
    asking = list(jobs)
    if not asking or not Node.objects.filter(has_own_cache=True).exists():
        return InputCaches()
    cached = CachedInput.objects.filter(project__in={job.project_id for job in asking})
    rows = list(cached.values_list("node", "project", "sha256", "size_bytes", "fetch_s"))
    held: dict[UUID, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))  # by project and hash: nodes
    for node, project, sha256, _, _ in rows:
        held[project][sha256].append(node)
    keys = {job.id: _key(job) for job in asking}
    one_of = {keys[job.id]: job for job in asking}
    data = _sizes_of_data({job.dataset_version_id for job in one_of.values() if job.dataset_version_id is not None})
    code = _sizes_of_code({job.model_version_id for job in one_of.values() if job.model_version_id is not None})
    sets = []
    for key, job in sorted(one_of.items()):
        sizes: Sizes = {}
        for known, version in ((data, job.dataset_version_id), (code, job.model_version_id)):
            sizes |= known.get(version, {}) if version is not None else {}
        for further in job.datasets.values():
            sizes |= _sizes(further["files"])
        sets.append(_set(key, sizes, held[job.project_id]))
    return InputCaches(keys, tuple(sets), _fetch_bps(rows))


def _key(job: Job) -> str:
    """Jobs of one project with the same data and code have the same one."""
    further = sorted(f["sha256"] for one in job.datasets.values() for f in one["files"])
    parts = [job.project_id, job.dataset_version_id, job.model_version_id, *further]
    return hashlib.sha256(" ".join(map(str, parts)).encode()).hexdigest()[:24]


def _set(key: str, sizes: Sizes, nodes_of: Mapping[str, Sequence[str]]) -> InputSet:
    held: dict[str, int] = defaultdict(int)
    for sha256, n_bytes in sizes.items():
        for node in nodes_of.get(sha256, ()):
            held[node] += n_bytes
    return InputSet(key, sum(sizes.values()), tuple(sorted(held.items())))


def _sizes_of_data(versions: Iterable[UUID]) -> dict[UUID, Sizes]:
    rows = DatasetVersion.objects.filter(pk__in=list(versions)).values_list("pk", "files")
    return {pk: _sizes(files) for pk, files in rows}


def _sizes(files: Iterable[Mapping[str, Any]]) -> Sizes:
    return {file["sha256"]: file["size_bytes"] for file in files}


def _sizes_of_code(versions: Iterable[UUID]) -> dict[UUID, Sizes]:
    """Of trained weights: these, and the code that they came from."""
    found: dict[UUID, Sizes] = {}
    for pk, code, *pairs in ModelVersion.objects.filter(pk__in=list(versions)).values_list(
        "pk", "code_version", *OF_CODE
    ):
        blobs = list(zip(pairs[::2], pairs[1::2], strict=True))
        (package, weights, layer), of_code = blobs[:3], blobs[3:]
        read = [package, weights, layer] if code is None else [of_code[0], weights, of_code[2]]
        found[pk] = {sha256: n_bytes for sha256, n_bytes in read if sha256 is not None}
    return found


def _fetch_bps(rows: Iterable[tuple[str, UUID, str, int, float | None]]) -> float:
    """The median over projects of the median of each: none of them alone says how fast all others fetch."""
    of_project: dict[UUID, list[float]] = defaultdict(list)
    for _, project, _, n_bytes, fetch_s in rows:
        if fetch_s:
            of_project[project].append(8 * n_bytes / fetch_s)
    medians = [median(rates) for rates in of_project.values()]
    return min(max(median(medians), SLOWEST_BPS), FASTEST_BPS) if medians else FETCH_BPS
