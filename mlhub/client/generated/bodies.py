# SPDX-License-Identifier: Apache-2.0
# Written by `make client` from the schema: do not edit.
"""Parts of requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from mlhub.client.generated import values as v


class AssertionRequest(TypedDict):
    """What navigator.credentials.get() returned, each member in base64url as toJSON() writes it."""

    id: str
    client_data: str
    authenticator_data: str
    signature: str
    user_handle: NotRequired[str]


class BudgetRequest(TypedDict):
    """What may be used in a period, with all below it."""

    gpu_hours: float
    period: NotRequired[v.BudgetPeriod]
    on_exhausted: NotRequired[v.OnExhausted]
    gpu_type: NotRequired[str]


class HeldInputsRequest(TypedDict):
    """HeldInputsRequest of a request."""

    project: str
    sha256s: Sequence[str]


class JobSubmitRequest(TypedDict):
    """Dataset and model; all else is MLHub's choice unless it is given.

    To predict or evaluate: model_of or a model_version with weights; it takes no setting of a training.
    """

    name: NotRequired[str]
    epochs: NotRequired[int]
    batch_size: NotRequired[int | Mapping[str, Any]]
    hyperparameters: NotRequired[Mapping[str, Any]]
    mode: NotRequired[v.ModeEnum]
    strategy: NotRequired[Mapping[str, Any]]
    min_workers: NotRequired[int]
    max_workers: NotRequired[int]
    priority: NotRequired[int]
    resources: NotRequired[ResourcesRequest]
    limits: NotRequired[LimitsRequest]
    environment: NotRequired[Mapping[str, str]]
    secrets: NotRequired[Sequence[str]]
    image: NotRequired[str]
    seed: NotRequired[int]
    target_metric: NotRequired[str]
    target_value: NotRequired[float | None]
    kind: NotRequired[v.JobKind]
    dataset: NotRequired[str]
    dataset_version: NotRequired[str]
    datasets: NotRequired[Mapping[str, str]]
    model: NotRequired[str]
    model_version: NotRequired[str]
    project: NotRequired[str]
    model_of: NotRequired[str]
    features: NotRequired[Sequence[str]]
    output: NotRequired[v.OutputEnum]
    examples: NotRequired[v.ExamplesEnum]


class LimitsRequest(TypedDict):
    """When the platform ends the job."""

    stall_s: NotRequired[float]
    idle_s: NotRequired[float]


class NewNodesRequest(TypedDict):
    """NewNodesRequest of a request."""

    nodes: NotRequired[int]
    gpus: int
    gpu_type: NotRequired[str]


class OrganisationRuleChangeRequest(TypedDict):
    """What is left out stays as it is; null: says nothing."""

    least_days: NotRequired[float | None]
    most_days: NotRequired[float | None]
    default_days: NotRequired[float | None]


class OrganisationSeenRequest(TypedDict):
    """What was seen of an organisation."""

    name: NotRequired[str]
    is_archived: NotRequired[bool]


class ProjectSeenRequest(TypedDict):
    """What was seen of a project."""

    name: NotRequired[str]
    team: NotRequired[str | None]
    is_archived: NotRequired[bool]


class ReplayPolicyRequest(TypedDict):
    """ReplayPolicyRequest of a request."""

    name: str
    parameters: NotRequired[Mapping[str, Any]]


class ResourcesRequest(TypedDict):
    """What each pod of the job gets. What is left out, MLHub takes from its own measurements."""

    cpus: NotRequired[float]
    memory_gib: NotRequired[float]
    n_servers: NotRequired[int]
    server_memory_gib: NotRequired[float]
    n_workers: NotRequired[int]
    gpu_types: NotRequired[Sequence[str]]


class ShardRequestRequest(TypedDict):
    """One of the files of a new version."""

    uri: str
    sha256: NotRequired[str]
    etag: NotRequired[str]


class SourceRequestRequest(TypedDict):
    """Where the file, or the shards, of a new version are fetched from."""

    uri: NotRequired[str]
    shards: NotRequired[Sequence[ShardRequestRequest]]
    sha256: NotRequired[str]
    etag: NotRequired[str]
    endpoint: NotRequired[str]
    region: NotRequired[str]
    secrets: NotRequired[SourceSecretsRequest]


class SourceSecretsRequest(TypedDict):
    """Names of secrets of the project, by what they are for."""

    token: NotRequired[str]
    access_key_id: NotRequired[str]
    secret_access_key: NotRequired[str]
    session_token: NotRequired[str]


class TeamSeenRequest(TypedDict):
    """What was seen of a team."""

    name: NotRequired[str]
    parent: NotRequired[str | None]


class TraceRequest(TypedDict):
    """TraceRequest of a request."""

    name: NotRequired[str]
    text: str


class TrialJobChangeRequest(TypedDict):
    """What shall be different of the jobs of a study that is cloned."""

    name: NotRequired[str]
    epochs: NotRequired[int]
    batch_size: NotRequired[int | Mapping[str, Any]]
    hyperparameters: NotRequired[Mapping[str, Any]]
    mode: NotRequired[v.ModeEnum]
    strategy: NotRequired[Mapping[str, Any]]
    min_workers: NotRequired[int]
    max_workers: NotRequired[int]
    priority: NotRequired[int]
    resources: NotRequired[ResourcesRequest]
    limits: NotRequired[LimitsRequest]
    environment: NotRequired[Mapping[str, str]]
    secrets: NotRequired[Sequence[str]]
    image: NotRequired[str]
    seed: NotRequired[int]
    target_metric: NotRequired[str]
    target_value: NotRequired[float | None]
    dataset: NotRequired[str]
    dataset_version: NotRequired[str]
    model: NotRequired[str]
    model_version: NotRequired[str]


class WebhookSeenRequest(TypedDict):
    """What was seen of a webhook."""

    url: NotRequired[str]
    topics: NotRequired[Sequence[v.WebhookTopic]]
    is_active: NotRequired[bool]


class WhatIfJobRequest(TypedDict):
    """A job, and what would be different of it. n_workers: exactly so many, instead of min_ and max_workers."""

    job: str
    priority: NotRequired[int]
    n_workers: NotRequired[int]
    min_workers: NotRequired[int]
    max_workers: NotRequired[int]


class WhatIfPolicyRequest(TypedDict):
    """WhatIfPolicyRequest of a request."""

    name: str
    parameters: NotRequired[Mapping[str, Any]]


class WhatIfQuotaRequest(TypedDict):
    """Whose quota: exactly one of organisation, team and project; and its other rules. null lifts a limit.

    extra_...: what one more boost would add to these rules, or to the present ones. max_waiting_jobs and
    max_storage_bytes count when jobs are submitted and data are uploaded: they affect no job, and below_use of the
    answer says where they are below what is used.
    """

    max_gpus: NotRequired[int | None]
    gpus_by_type: NotRequired[Mapping[str, int]]
    guarantee_by_type: NotRequired[Mapping[str, int]]
    borrow_limit_by_type: NotRequired[Mapping[str, int]]
    lend_limit_by_type: NotRequired[Mapping[str, int]]
    max_cpus: NotRequired[int | None]
    max_memory_bytes: NotRequired[int | None]
    max_running_jobs: NotRequired[int | None]
    guarantee: NotRequired[int | None]
    borrow_limit: NotRequired[int | None]
    lend_limit: NotRequired[int | None]
    reclaim: NotRequired[v.ReclaimEnum]
    weight: NotRequired[float]
    shares_fairly: NotRequired[bool]
    half_life_s: NotRequired[float]
    budgets: NotRequired[Sequence[BudgetRequest]]
    organisation: NotRequired[str]
    team: NotRequired[str]
    project: NotRequired[str]
    max_waiting_jobs: NotRequired[int | None]
    max_storage_bytes: NotRequired[int | None]
    extra_guarantee: NotRequired[int]
    extra_max_gpus: NotRequired[int]
    extra_gpus_by_type: NotRequired[Mapping[str, int]]
    extra_guarantee_by_type: NotRequired[Mapping[str, int]]


class WhatIfUserQuotaRequest(TypedDict):
    """Limits of users: of exactly one of organisation, team and project, asked by its admins; only what is different.

    max_waiting_jobs and max_storage_bytes count when jobs are submitted and data are uploaded: no job is affected.
    """

    username: NotRequired[str | None]
    max_gpus: NotRequired[int | None]
    gpus_by_type: NotRequired[Mapping[str, int]]
    max_cpus: NotRequired[int | None]
    max_memory_bytes: NotRequired[int | None]
    max_running_jobs: NotRequired[int | None]
    max_waiting_jobs: NotRequired[int | None]
    max_storage_bytes: NotRequired[int | None]
    budgets: NotRequired[Sequence[BudgetRequest]]
    organisation: NotRequired[str]
    team: NotRequired[str]
    project: NotRequired[str]
