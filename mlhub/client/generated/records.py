# SPDX-License-Identifier: Apache-2.0
# Written by `make client` from the schema: do not edit.
"""Answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from mlhub.client.generated import values as v
from mlhub.client.records import ApiRecord


class Action(ApiRecord):
    """An action that the policy itself confirmed: it decided on the cluster as it would be then."""

    kind: v.ActionKindEnum
    sentence: str
    together: list[ActionChange]
    by: v.ActionByEnum
    job: str | None
    tenant: str
    changes: ActionChanges
    starts_now: bool
    start_at: datetime | None
    start_p90_at: datetime | None
    finish_at: datetime | None
    finish_p90_at: datetime | None
    gain_s: float | None
    n_delayed: int
    n_delayed_others: int
    delayed_s: float


class ActionChange(ApiRecord):
    """One of several limits that are raised together."""

    kind: v.ActionKindEnum
    sentence: str
    tenant: str
    changes: ActionChanges


class ActionChanges(ApiRecord):
    """Only what the action changes is there."""

    priority: int | None
    min_workers: int | None
    max_workers: int | None
    n_workers: int | None
    gpu_types: list[str] | None
    max_gpus: int | None
    guarantee: int | None
    borrow_limit: int | None
    gpus_by_type: dict[str, int] | None
    borrow_limit_by_type: dict[str, int] | None
    max_cpus: int | None
    max_memory_bytes: int | None
    max_running_jobs: int | None
    budgets: list[Budget] | None


class Actor(ApiRecord):
    """Actor of an answer."""

    username: str


class Admission(ApiRecord):
    """Whether waiting jobs may be started. While admission is paused running jobs go on, and none is started."""

    is_paused: bool
    reason: str
    since: datetime | None
    until: datetime | None
    paused_by: str
    version: int


class Agent(ApiRecord):
    """One agent; its node, when it has reported, is in the cluster under the same name."""

    name: str
    is_own: bool
    state: v.AgentStateEnum
    token_made_at: datetime
    made_by: str | None
    seen_at: datetime | None
    address: str
    version: str
    problem: str


class AgentToken(ApiRecord):
    """An agent with its new token."""

    agent: Agent
    token: str


class Agents(ApiRecord):
    """Agents by name."""

    results: list[Agent]
    version: str
    takeover_s: float
    ends_within_s: float


class Ahead(ApiRecord):
    """Ahead of an answer."""

    n_jobs: int
    n_others: int
    jobs: list[AheadJob]


class AheadJob(ApiRecord):
    """AheadJob of an answer."""

    id: str
    name: str
    n_workers: int
    explanation: Explanation
    predicted_start_at: datetime | None


class Alias(ApiRecord):
    """A name of one version of a model."""

    name: str
    version: int
    version_id: str
    set_by: str | None
    set_at: datetime


class Analysis(ApiRecord):
    """What the live policy decides on the present cluster, and on the same cluster after each action."""

    policy: str
    as_of: datetime
    compute_ms: float
    n_workers: int
    start_at: datetime | None
    finish_at: datetime | None
    blockers: list[Blocker]
    ahead: Ahead
    awaited: Awaited | None
    actions: list[Action]
    n_tried: int
    n_untried: int


class Announcement(ApiRecord):
    """Something that administrators of the platform say. The text is plain: neither HTML nor Markdown."""

    id: str
    text: str
    severity: v.SeverityEnum
    organisation: OrganisationBrief | None
    begins_at: datetime
    ends_at: datetime | None
    is_dismissible: bool
    state: v.AnnouncementStateEnum
    published_by: str
    published_at: datetime


class Applied(ApiRecord):
    """Applied of an answer."""

    job: str
    decision: str
    outcome: str


class ApprovedQuota(ApiRecord):
    """A request that was just approved, and what the cluster cannot honour since."""

    id: str
    organisation: str
    owner: str
    owner_kind: str
    owner_name: str
    extra_guarantee: int
    extra_guarantee_by_type: dict[str, int]
    extra_max_gpus: int
    extra_gpus_by_type: dict[str, int]
    starts_at: datetime | None
    ends_at: datetime | None
    reason: str
    requested_by: str
    created_at: datetime
    state: v.RequestedQuotaStateEnum
    note: str
    answered_by: str
    answered_at: datetime | None
    overcommitted: list[Overcommitment]


class Artifact(ApiRecord):
    """Artifact of an answer."""

    name: str
    size_bytes: int
    sha256: str
    at: datetime


class Attempt(ApiRecord):
    """Attempt of an answer."""

    id: str
    number: int
    mode: str
    n_workers: int
    n_servers: int
    created_at: datetime
    started_at: datetime | None
    training_at: datetime | None
    stop_asked_at: datetime | None
    ended_at: datetime | None
    outcome: str
    cause: v.FailureCause | v.BlankEnum
    message: str
    first_step: int
    last_step: int
    predicted_step_s: float | None
    measured_step_s: float | None
    batch_size: int | None
    placement: list[Placement]


class Awaited(ApiRecord):
    """Awaited of an answer."""

    id: str | None
    name: str | None
    finish_at: datetime | None


class BackendStatus(ApiRecord):
    """away_since: null = the machines can be reached. message: why not, for administrators."""

    name: str
    away_since: datetime | None
    message: str


class BatchDecision(ApiRecord):
    """The batch that the trainer is to use from its next epoch or checkpoint on."""

    batch_size: int
    noise_scale: float | None
    reason: str


class BelowUse(ApiRecord):
    """A limit of the question that would be below what is used of it now."""

    owner: str
    limit: str
    gpu_type: str
    used: float
    amount: float
    drains: bool


class Blocker(ApiRecord):
    """Blocker of an answer."""

    kind: v.BlockerKindEnum
    need: int
    have: int
    total: int
    is_blocking: bool
    tenant: str
    gpu_types: list[str]
    guarantee: int | None
    sentence: str


class Budget(ApiRecord):
    """What may be used in a period, with all below it."""

    gpu_hours: float
    period: v.BudgetPeriod | None
    on_exhausted: v.OnExhausted | None
    gpu_type: str | None


class BudgetUse(ApiRecord):
    """A budget, and what of it is used in the present period."""

    gpu_hours: float
    period: v.BudgetPeriod
    on_exhausted: v.OnExhausted
    gpu_type: str
    used_gpu_hours: float
    ends_at: datetime | None
    is_exhausted: bool


class Bulk(ApiRecord):
    """Bulk of an answer."""

    outcomes: list[JobOutcome]


class BurnDown(ApiRecord):
    """A budget, how it was used in the present period, and how it would go on at the rate of the last days."""

    gpu_hours: float
    period: v.BudgetPeriod
    on_exhausted: v.OnExhausted
    gpu_type: str
    used_gpu_hours: float
    ends_at: datetime | None
    is_exhausted: bool
    began_at: datetime
    points: list[UsedUntil]
    gpu_hours_per_day: float
    rate_since: datetime
    predicted_gpu_hours: float | None
    exhausted_at: datetime | None


class CachedInputs(ApiRecord):
    """Inputs that a volume of a project has."""

    sha256s: list[str]


class CachingNode(ApiRecord):
    """CachingNode of an answer."""

    name: str
    cached_bytes: int
    used_at: datetime


class CalibrationCause(ApiRecord):
    """CalibrationCause of an answer."""

    n: int
    within_p90: float | None
    median_error: float | None
    median_bias: float | None
    n_waited: int
    started_within_p90: float | None
    cause: str


class CalibrationMoment(ApiRecord):
    """CalibrationMoment of an answer."""

    n: int
    within_p90: float | None
    median_error: float | None
    median_bias: float | None
    n_waited: int
    started_within_p90: float | None
    moment: v.MomentEnum


class CalibrationOrganisation(ApiRecord):
    """CalibrationOrganisation of an answer."""

    n: int
    within_p90: float | None
    median_error: float | None
    median_bias: float | None
    n_waited: int
    started_within_p90: float | None
    organisation: str


class Checkpoint(ApiRecord):
    """A complete checkpoint of a job, or weights that are kept for being among the best."""

    id: int
    name: str
    step: int
    attempt_number: int
    is_best: bool
    is_pinned: bool
    is_reachable: bool
    metrics: dict[str, float]
    size_bytes: int
    at: datetime


class ClassDifference(ApiRecord):
    """ClassDifference of an answer."""

    name: str
    change: v.ChangeEnum
    before: int | None
    after: int | None


class Cluster(ApiRecord):
    """Cluster of an answer."""

    racks: list[Rack]
    totals: Totals
    backend: BackendStatus
    quarantined: list[QuarantineRecord]
    interference: list[Interference]
    links: list[Link]
    link_loads: list[LinkLoad]
    traffic: list[GangTraffic]
    sandbox: list[SandboxReport]
    ledger_failing_since: datetime | None
    overcommitted: list[Overcommitment]


class CodeDifference(ApiRecord):
    """CodeDifference of an answer."""

    files: list[FileDifference]
    n_left_out: int
    note: str


class CodeVersion(ApiRecord):
    """The code that weights were trained with."""

    id: str
    number: int
    model: ModelBrief


class ColumnDifference(ApiRecord):
    """ColumnDifference of an answer."""

    name: str
    change: v.ChangeEnum
    differs: list[str]
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class CommonMetric(ApiRecord):
    """CommonMetric of an answer."""

    key: str
    n_jobs: int


class CommonMetrics(ApiRecord):
    """CommonMetrics of an answer."""

    metrics: list[CommonMetric]
    n_metrics: int


class ComparedCurve(ApiRecord):
    """ComparedCurve of an answer."""

    job: str
    x: list[float]
    y: list[float]


class ComparedCurves(ApiRecord):
    """ComparedCurves of an answer."""

    curves: list[ComparedCurve]


class ComparedImportance(ApiRecord):
    """How much each parameter matters by itself."""

    method: str
    needed: int
    n_rows: int
    parameters: list[ComparedParameter]


class ComparedParam(ApiRecord):
    """ComparedParam of an answer."""

    key: str
    n_runs: int
    values: list[str | None] | None


class ComparedParameter(ApiRecord):
    """How much one parameter matters by itself, and in which direction."""

    name: str
    share: float
    n: int
    correlation: float | None


class ComparedRun(ApiRecord):
    """ComparedRun of an answer."""

    id: str
    name: str
    status: v.RunStatus
    project: str


class ComparedRunCurve(ApiRecord):
    """ComparedRunCurve of an answer."""

    run: str
    x: list[float]
    y: list[float | None]


class ComparedRunCurves(ApiRecord):
    """ComparedRunCurves of an answer."""

    curves: list[ComparedRunCurve]
    left: list[str]


class ComparedRunMetric(ApiRecord):
    """ComparedRunMetric of an answer."""

    key: str
    n_runs: int
    values: list[float | None] | None


class ComparedRuns(ApiRecord):
    """ComparedRuns of an answer."""

    runs: list[ComparedRun]
    params: list[ComparedParam]
    metrics: list[ComparedRunMetric]
    n_params: int
    n_metrics: int
    missing: list[str]
    left: list[str]


class Cost(ApiRecord):
    """Expected of the next one, give or take error_s in two of three cases. n: measured of the job's own family.

    basis: what it rests on: the family's own, few of its own and others', others' alone, or a guess; of a
    running script's loss, its work that is in no checkpoint yet.
    """

    seconds: float
    error_s: float
    n: int
    basis: v.CostBasisEnum
    sentence: str


class Costs(ApiRecord):
    """start: from launch to the first step. leave: from being asked to. loss: work done again. restart: all three."""

    start: Cost
    leave: Cost
    loss: Cost
    restart: Cost


class CurrentAnnouncements(ApiRecord):
    """What is said to the caller now, without what the caller has dismissed."""

    announcements: list[Announcement]
    next_change_at: datetime | None


class DataFileDifference(ApiRecord):
    """DataFileDifference of an answer."""

    path: str
    change: v.ChangeEnum
    size_before: int | None
    size_after: int | None


class Dataset(ApiRecord):
    """Dataset of an answer."""

    id: str
    name: str
    description: str | None
    project: ProjectBrief
    created_by: UserBrief
    created_at: datetime
    latest_version: DatasetVersion | None


class DatasetBrief(ApiRecord):
    """DatasetBrief of an answer."""

    id: str
    name: str


class DatasetCaches(ApiRecord):
    """What the caches of nodes hold for the jobs of the dataset's project, as pods reported it."""

    has_node_caches: bool
    size_bytes: int
    nodes: list[CachingNode]
    n_nodes: int
    n_starts: int
    inputs_bytes: int
    found_bytes: int


class DatasetVersion(ApiRecord):
    """DatasetVersion of an answer."""

    id: str
    dataset: DatasetBrief
    number: int
    state: v.VersionState
    format: v.FormatEnum
    options: dict[str, Any]
    files: list[VersionFile]
    n_files: int
    source: Source | None
    manifest_sha256: str
    size_bytes: int
    schema: dict[str, Any]
    builtin_models: list[str]
    preview: dict[str, Any] | None
    statistics: dict[str, Any] | None
    error: Refusal | None
    queue: QueuePosition | None
    created_at: datetime
    inspected_at: datetime | None


class DatasetVersionBrief(ApiRecord):
    """DatasetVersionBrief of an answer."""

    id: str
    number: int
    dataset: DatasetBrief


class Decision(ApiRecord):
    """A decision that was another than the one before. n_workers, mode and nodes: from then on, of launch and resize.

    round: where it was stored; null when that round changed nothing.
    """

    id: int
    at: datetime
    round: int | None
    policy: str
    decision: v.DecisionKind
    explanations: list[Explanation]
    mode: str
    n_workers: int
    n_servers: int
    nodes: list[str]
    predicted_start_at: datetime | None
    predicted_finish_at: datetime | None


class DeletedCaches(ApiRecord):
    """Of what was named, what the machine is to remove."""

    projects: list[str]
    inputs: list[HeldInputs]


class Deletion(ApiRecord):
    """What deleting a job means."""

    refusal: str
    remedy: str
    n_attempts: int
    checkpoint_bytes: int | None
    result_bytes: int
    trained_model: str
    n_clones: int


class DeletionRefusal(ApiRecord):
    """DeletionRefusal of an answer."""

    code: str
    message: str
    remedy: str


class Delivery(ApiRecord):
    """Delivery of an answer."""

    id: str
    topic: v.DeliveryTopic
    state: v.DeliveryStateEnum
    body: str
    n_attempts: int
    status_code: int | None
    error: str
    created_at: datetime
    due_at: datetime
    ended_at: datetime | None


class Difference(ApiRecord):
    """Difference of an answer."""

    job: str
    real: Side
    shadow: Side


class Downloads(ApiRecord):
    """Addresses of what can be downloaded."""

    weights: str | None
    package: str | None
    metadata: str | None
    export: str | None


class DroppedReports(ApiRecord):
    """DroppedReports of an answer."""

    limit: v.LimitEnum
    part: v.PartEnum
    n: int
    sentence: str


class Effect(ApiRecord):
    """deltas: seconds, positive = later."""

    id: str
    name: str
    owner: str
    organisation: str
    role: v.EffectRoleEnum
    before: Prospect | None
    after: Prospect | None
    start_delta_s: float | None
    finish_delta_s: float | None


class End(ApiRecord):
    """A forecast that came to its end; seconds from made_at."""

    job: JobName
    moment: v.MomentEnum
    policy: str
    made_at: datetime
    predicted_s: float
    actual_s: float
    within_p90: bool | None


class EndedSessions(ApiRecord):
    """EndedSessions of an answer."""

    n_sessions: int


class Enrolment(ApiRecord):
    """Enrolment of an answer."""

    secret: str
    address: str
    qr_svg: str


class Environment(ApiRecord):
    """Environment of an answer."""

    id: str
    organisation: OrganisationBrief
    state: v.EnvironmentState
    origin: str
    requirements: list[str]
    packages: list[Package]
    python: str
    platform: str
    size_bytes: int
    error: EnvironmentError | None
    n_versions: int
    used_by: list[RequiringVersion]
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class EnvironmentBrief(ApiRecord):
    """EnvironmentBrief of an answer."""

    id: str
    state: v.EnvironmentState
    origin: str
    size_bytes: int


class EnvironmentError(ApiRecord):
    """Why a build failed."""

    code: str
    message: str
    remedy: str


class EnvironmentLog(ApiRecord):
    """EnvironmentLog of an answer."""

    log: str


class Event(ApiRecord):
    """actor: null for the platform itself."""

    id: int
    kind: str
    organisation: str | None
    subject_kind: str
    subject_id: str | None
    actor: Actor | None
    at: datetime
    facts: dict[str, Any]


class Explanation(ApiRecord):
    """Why the scheduler decided as it did, in words and numbers."""

    reason: str
    sentence: str
    facts: dict[str, Any]


class FactDifference(ApiRecord):
    """FactDifference of an answer."""

    name: str
    before: Any | None
    after: Any | None


class Failure(ApiRecord):
    """Failure of an answer."""

    cause: v.FailureCause
    fault: v.FaultEnum
    message: str
    remedy: str
    field: str | None
    traceback: str | None


class FamilyCosts(ApiRecord):
    """job: the newest one of the family."""

    start: Cost
    leave: Cost
    loss: Cost
    restart: Cost
    job: JobName


class FetchProgress(ApiRecord):
    """FetchProgress of an answer."""

    fetched_bytes: int
    n_fetched: int | None
    n_files: int | None
    total_bytes: int | None


class FileCounts(ApiRecord):
    """FileCounts of an answer."""

    n_added: int
    n_removed: int
    n_changed: int
    n_same: int


class FileDifference(ApiRecord):
    """FileDifference of an answer."""

    path: str
    change: v.ChangeEnum
    diff: str
    note: str


class Found(ApiRecord):
    """What the address had when the file was fetched."""

    etag: str | None
    last_modified: str | None
    revision: str | None
    fetched_at: datetime | None
    is_changed: bool | None


class FurtherDataset(ApiRecord):
    """A dataset that a script reads besides its own."""

    name: str
    dataset: DatasetBrief
    version: str
    number: int


class GangTraffic(ApiRecord):
    """What a job on several nodes sends over links now."""

    job: str
    mode: str
    nodes: list[str]
    server_nodes: list[str]
    step_s: float
    is_counted: bool
    measured_at: datetime
    links: list[LinkFlow]


class Gpu(ApiRecord):
    """A GPU as its driver showed it when the node was observed last."""

    name: str
    memory_bytes: int
    used_bytes: int
    utilisation: float | None
    temperature_c: float | None
    problem: str


class HeldInputs(ApiRecord):
    """HeldInputs of an answer."""

    project: str
    sha256s: list[str]


class Identity(ApiRecord):
    """Identity of an answer."""

    id: str
    issuer: str
    subject: str
    label: str | None
    created_at: datetime
    last_sign_in_at: datetime | None


class Impersonation(ApiRecord):
    """That an administrator sees MLHub as this user, and changes nothing."""

    by: str
    ends_at: datetime


class Importance(ApiRecord):
    """How much each hyperparameter matters by itself."""

    method: str
    epochs: int
    n_trials: int
    needed: int
    parameters: list[ParameterImportance]


class InputsOnNode(ApiRecord):
    """InputsOnNode of an answer."""

    node: str
    inputs_bytes: int
    found_bytes: int
    fetched_bytes: int
    fetch_s: float


class Insight(ApiRecord):
    """How well the scheduler predicts, what it expects restarts to cost, and what its shadow policy would do."""

    calibration: list[CalibrationMoment]
    calibration_by_organisation: list[CalibrationOrganisation]
    calibration_by_cause: list[CalibrationCause]
    ends: list[End]
    costs: list[FamilyCosts]
    rounds: RecentRounds
    shadow: ShadowSummary | None


class Interference(ApiRecord):
    """How much slower jobs of one kind were while one of another kind used the same hardware."""

    job: str
    other: str
    resource: v.ResourceEnum
    gpu_type: str
    slowdown: float
    error: float
    n: int
    n_steps: int


class Invitation(ApiRecord):
    """Invitation of an answer."""

    id: str
    username: str | None
    email: str | None
    role: v.Role
    invited_by: UserBrief | None
    created_at: datetime
    expires_at: datetime


class InvitationCreated(ApiRecord):
    """InvitationCreated of an answer."""

    id: str
    username: str | None
    email: str | None
    role: v.Role
    invited_by: UserBrief | None
    created_at: datetime
    expires_at: datetime
    link: str | None
    is_mailed: bool | None


class Job(ApiRecord):
    """As lists show it. waited_s: until the first step; trained_s: since then; jct_s: from submission to the end."""

    id: str
    kind: v.JobKind
    name: str
    project: ProjectBrief
    created_by: UserBrief
    cloned_from: str | None
    dataset_version: DatasetVersionBrief | None
    datasets: list[FurtherDataset]
    model_version: ModelVersionBrief
    epochs: int
    batch_size: int
    hyperparameters: dict[str, Any]
    hints: list[str]
    seed: int
    mode: v.ModeEnum
    strategy: dict[str, Any]
    min_workers: int
    max_workers: int
    priority: int
    resources: Resources
    limits: Limits
    environment: dict[str, str]
    secrets: list[str]
    image: str
    target_metric: str
    target_value: float | None
    state: v.JobState
    intent: v.IntentEnum
    reason: str
    explanations: list[Explanation]
    pause_reason: str
    preflight: v.PreflightEnum
    validation_problem: str
    profile: dict[str, Any]
    failure: Failure | None
    steps_done: int
    steps_total: int
    step_unit: v.StepUnitEnum
    epoch: float
    step_s: float | None
    progress: float | None
    result_metrics: dict[str, float]
    result_version: str | None
    submitted_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    waited_s: float | None
    trained_s: float | None
    jct_s: float | None
    predicted_start_at: datetime | None
    predicted_start_p90_at: datetime | None
    predicted_finish_at: datetime | None
    predicted_finish_p90_at: datetime | None
    first_predicted_finish_at: datetime | None
    current_attempt: Attempt | None
    tags: list[str]
    gpu_hours: float
    slowdown: JobSlowdown | None
    network: NetworkRate | None


class JobDetail(ApiRecord):
    """With all attempts, and the cursor from which /jobs/{id}/stream goes on."""

    id: str
    kind: v.JobKind
    name: str
    project: ProjectBrief
    created_by: UserBrief
    cloned_from: str | None
    dataset_version: DatasetVersionBrief | None
    datasets: list[FurtherDataset]
    model_version: ModelVersionBrief
    epochs: int
    batch_size: int
    hyperparameters: dict[str, Any]
    hints: list[str]
    seed: int
    mode: v.ModeEnum
    strategy: dict[str, Any]
    min_workers: int
    max_workers: int
    priority: int
    resources: Resources
    limits: Limits
    environment: dict[str, str]
    secrets: list[str]
    image: str
    target_metric: str
    target_value: float | None
    state: v.JobState
    intent: v.IntentEnum
    reason: str
    explanations: list[Explanation]
    pause_reason: str
    preflight: v.PreflightEnum
    validation_problem: str
    profile: dict[str, Any]
    failure: Failure | None
    steps_done: int
    steps_total: int
    step_unit: v.StepUnitEnum
    epoch: float
    step_s: float | None
    progress: float | None
    result_metrics: dict[str, float]
    result_version: str | None
    submitted_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    waited_s: float | None
    trained_s: float | None
    jct_s: float | None
    predicted_start_at: datetime | None
    predicted_start_p90_at: datetime | None
    predicted_finish_at: datetime | None
    predicted_finish_p90_at: datetime | None
    first_predicted_finish_at: datetime | None
    current_attempt: Attempt | None
    tags: list[str]
    gpu_hours: float
    notes: str
    prediction: dict[str, Any]
    result_file: ResultFile | None
    attempts: list[Attempt]
    validated_by: str | None
    validated_at: datetime | None
    code_environment: EnvironmentBrief | None
    code_image: str
    dropped: list[DroppedReports]
    removed_parts: list[RemovedPart]
    cursor: str


class JobDifference(ApiRecord):
    """JobDifference of an answer."""

    settings: list[SettingDifference]
    code: CodeDifference


class JobName(ApiRecord):
    """JobName of an answer."""

    id: str
    name: str


class JobOutcome(ApiRecord):
    """JobOutcome of an answer."""

    id: str
    name: str
    refusal: str
    remedy: str


class JobPreview(ApiRecord):
    """JobPreview of an answer."""

    policy: str
    as_of: datetime
    decide_ms: float
    basis: str
    plan: PlannedRun
    quota: QuotaEffect
    n_delayed: int
    alternatives: list[PlanAlternative]


class JobSlowdown(ApiRecord):
    """How much slower a running job trains because of others on the same hardware."""

    ratio: float
    basis: v.JobSlowdownBasisEnum
    resource: str


class Limits(ApiRecord):
    """When the platform ends the job."""

    stall_s: float | None
    idle_s: float | None


class Lineage(ApiRecord):
    """Lineage of an answer."""

    version: str
    nodes: list[LineageNode]
    edges: list[LineageEdge]
    n_left_out: int


class LineageEdge(ApiRecord):
    """LineageEdge of an answer."""

    source: str
    target: str


class LineageNode(ApiRecord):
    """LineageNode of an answer."""

    id: str
    kind: v.LineageNodeKindEnum
    name: str
    number: int | None
    parent_id: str | None
    job_kind: str
    state: str


class Link(ApiRecord):
    """A network link through which gangs were measured."""

    kind: v.LinkKind
    name: str
    declared_bps: float
    measured_bps: float
    n_reports: int
    at: datetime
    slow_since: datetime | None


class LinkFlow(ApiRecord):
    """LinkFlow of an answer."""

    kind: v.LinkKind
    name: str
    bytes_per_step: float
    bps: float


class LinkLoad(ApiRecord):
    """What gangs send over a network link now, by the bytes of their steps and their measured rate."""

    kind: v.LinkKind
    name: str
    capacity_bps: float
    bps: float | None
    n_gangs: int
    n_unknown: int


class Log(ApiRecord):
    """Oldest first; the last line's seq is the next `after`, the first line's the next `before`."""

    lines: list[LogLine]
    is_end: bool
    n_found: int | None
    cursor: str


class LogLine(ApiRecord):
    """LogLine of an answer."""

    seq: int
    at: datetime | None
    attempt_number: int
    role: str
    index: int
    number: int
    text: str
    n_dropped: int
    is_error: bool


class LogOverview(ApiRecord):
    """Section i of n holds the seqs from first_seq + i * (last_seq - first_seq + 1) / n on."""

    first_seq: int | None
    last_seq: int | None
    errors: list[int]
    found: list[int] | None
    n_errors: int
    n_found: int | None


class MailNotices(ApiRecord):
    """MailNotices of an answer."""

    topics: list[v.MailTopic]
    email: str
    has_mail_server: bool


class Maintenance(ApiRecord):
    """A node that an administrator closed. drain_by: when the last job will have left; null = cordoned only."""

    drain_by: datetime | None
    reason: str
    asked_by: str
    asked_at: datetime


class Me(ApiRecord):
    """Me of an answer."""

    id: str
    username: str
    is_staff: bool
    needs_second_factor: bool
    impersonation: Impersonation | None
    memberships: list[MyMembership]
    project_roles: list[ProjectRole]
    stream_cursor: str


class MeasuredValue(ApiRecord):
    """A value that the job's pods measured, with what a page says about it."""

    name: str
    title: str
    unit: v.UnitEnum
    about: str
    value: float


class Membership(ApiRecord):
    """Membership of an answer."""

    id: str
    user: UserBrief
    role: v.Role
    from_groups: bool | None


class MetricName(ApiRecord):
    """A metric, and its newest point: of the last attempt that reported it."""

    key: str
    n_points: int
    last_step: int
    last_value: float
    attempt_number: int


class MetricNames(ApiRecord):
    """MetricNames of an answer."""

    names: list[MetricName]
    next: str | None


class Metrics(ApiRecord):
    """cursor: where /jobs/{id}/stream goes on from these."""

    series: list[Series]
    next: str | None
    next_step: int | None
    cursor: str


class Model(ApiRecord):
    """Model of an answer."""

    id: str
    name: str
    description: str | None
    project: ProjectBrief | None
    created_by: UserBrief | None
    created_at: datetime
    latest_version: ModelVersion | None
    n_trained: int
    n_logged: int


class ModelBrief(ApiRecord):
    """ModelBrief of an answer."""

    id: str
    name: str


class ModelFile(ApiRecord):
    """A file of a version that a client of MLflow registered."""

    path: str
    size_bytes: int


class ModelVersion(ApiRecord):
    """ModelVersion of an answer."""

    id: str
    model: ModelBrief
    number: int
    source: v.SourceEnum
    kind: v.KindEnum
    entry: str
    state: v.VersionState
    size_bytes: int
    contract: dict[str, Any]
    metadata: dict[str, Any]
    metrics: dict[str, Any]
    error: Refusal | None
    environment: EnvironmentBrief | None
    image: str
    queue: QueuePosition | None
    code_version: CodeVersion | None
    dataset_version: TrainedOn | None
    trained_on_name: str
    job_id: str | None
    created_at: datetime
    tags: list[str]
    aliases: list[str]
    downloads: Downloads


class ModelVersionBrief(ApiRecord):
    """ModelVersionBrief of an answer."""

    id: str
    number: int
    model: ModelBrief
    kind: v.KindEnum


class ModelVersionDetail(ApiRecord):
    """One version, with what people wrote about it."""

    id: str
    model: ModelBrief
    number: int
    source: v.SourceEnum
    kind: v.KindEnum
    entry: str
    state: v.VersionState
    size_bytes: int
    contract: dict[str, Any]
    metadata: dict[str, Any]
    metrics: dict[str, Any]
    error: Refusal | None
    environment: EnvironmentBrief | None
    image: str
    queue: QueuePosition | None
    code_version: CodeVersion | None
    dataset_version: TrainedOn | None
    trained_on_name: str
    job_id: str | None
    created_at: datetime
    tags: list[str]
    aliases: list[str]
    downloads: Downloads
    notes: str
    not_exportable: Refusal | None


class MyInvitation(ApiRecord):
    """MyInvitation of an answer."""

    id: str
    organisation: OrganisationBrief
    role: v.Role
    invited_by: UserBrief | None
    created_at: datetime
    expires_at: datetime


class MyMembership(ApiRecord):
    """MyMembership of an answer."""

    id: str
    organisation: OrganisationBrief
    role: v.Role


class NamedRow(ApiRecord):
    """NamedRow of an answer."""

    id: str
    name: str


class NetworkRate(ApiRecord):
    """What one worker of a running job receives and sends, as its pods count it."""

    received_bytes_per_s: float | None
    sent_bytes_per_s: float | None


class News(ApiRecord):
    """Whether there are new orders."""

    state: str


class Next(ApiRecord):
    """Next of an answer."""

    next: int
    batch: BatchDecision | None
    profile: ProfileToRecord | None


class Node(ApiRecord):
    """Node of an answer."""

    name: str
    gpu_type: str
    n_slots: int
    cpus: float
    memory_bytes: int
    nic_bps: float
    is_ready: bool
    is_schedulable: bool
    message: str
    observed_at: datetime
    max_jobs_per_gpu: int
    sharing: str
    maintenance: Maintenance | None
    exclusion: NodeExclusion | None
    slots: list[Slot]
    servers: list[Servers]


class NodeExclusion(ApiRecord):
    """A node, or GPUs of it, that take no new jobs for a while, since attempts failed there in a row."""

    gpus: list[int]
    since: datetime
    until: datetime
    cause: v.FailureCause
    n_failures: int
    n_jobs: int
    n_times: int


class Notebook(ApiRecord):
    """Notebook of an answer."""

    is_ready: bool
    idle_limit_s: float
    active_at: datetime | None
    stops_at: datetime | None
    is_warned: bool
    silent_since: datetime | None
    reclaimed_at: datetime | None


class NotebookAddress(ApiRecord):
    """NotebookAddress of an answer."""

    url: str
    expires_at: datetime


class Orders(ApiRecord):
    """What the agent is to do, as mlhub/backends/agents/messages.py: Orders."""

    protocol: int
    name: str
    state: str
    lost_after_s: float
    public_url: str
    checkpoints: dict[str, Any]
    gangs: list[dict[str, Any]]


class Organisation(ApiRecord):
    """Organisation of an answer."""

    id: str
    name: str
    created_at: datetime
    archived_at: datetime | None
    role: v.Role


class OrganisationBrief(ApiRecord):
    """OrganisationBrief of an answer."""

    id: str
    name: str


class OrganisationContents(ApiRecord):
    """OrganisationContents of an answer."""

    counts: dict[str, int]
    n_bytes: int
    shared_bytes: int
    refusals: list[DeletionRefusal]
    deletion: OrganisationDeletion | None


class OrganisationDeletion(ApiRecord):
    """OrganisationDeletion of an answer."""

    id: str
    organisation_id: str
    name: str
    requested_at: datetime
    counts: dict[str, int]
    n_total: int
    n_removed: int
    step: str
    problem: str
    bytes_removed: int
    shared_blobs: int
    later_blobs: int
    ended_at: datetime | None
    n_machines_left: int
    machines_left: list[str]


class OrganisationDetail(ApiRecord):
    """OrganisationDetail of an answer."""

    id: str
    name: str
    created_at: datetime
    archived_at: datetime | None
    role: v.Role
    quota: QuotaLimits


class OrganisationRetention(ApiRecord):
    """OrganisationRetention of an answer."""

    version: int
    may_edit: bool
    kinds: list[OrganisationRetentionKind]
    clamped: list[ProjectDays]


class OrganisationRetentionKind(ApiRecord):
    """OrganisationRetentionKind of an answer."""

    least_days: float | None
    most_days: float | None
    default_days: float | None
    kind: v.KeptKind
    installation_days: float | None
    installation_bounds: list[RetentionBound]


class OrganisationTimes(ApiRecord):
    """OrganisationTimes of an answer."""

    organisation: str
    n_jobs: int
    mean_jct_s: float


class Overcommitment(ApiRecord):
    """Guarantees of organisations that are more in sum than the cluster has: not all can be honoured at once."""

    gpu_type: str
    guaranteed: int | None
    gpus: int


class Package(ApiRecord):
    """Package of an answer."""

    name: str
    version: str


class ParameterImportance(ApiRecord):
    """ParameterImportance of an answer."""

    name: str
    share: float


class Passkey(ApiRecord):
    """Passkey of an answer."""

    id: str
    name: str
    is_synced: bool | None
    created_at: datetime
    last_used_at: datetime | None


class PasskeyAdded(ApiRecord):
    """PasskeyAdded of an answer."""

    id: str
    name: str
    is_synced: bool | None
    created_at: datetime
    last_used_at: datetime | None
    recovery_codes: list[str]


class PasskeyOptions(ApiRecord):
    """PasskeyOptions of an answer."""

    options: dict[str, Any]


class PasswordLink(ApiRecord):
    """PasswordLink of an answer."""

    link: str
    expires_at: datetime


class Permission(ApiRecord):
    """Whether one may do one thing."""

    action: v.PermissionActionEnum
    is_allowed: bool
    needed_role: v.Role | None
    place: str
    remedy: str


class Permissions(ApiRecord):
    """Why one can or cannot do things in a place."""

    user: UserBrief
    role: v.Role | None
    assignments: list[RoleAssignment]
    permissions: list[Permission]


class PersonRoles(ApiRecord):
    """What one member may do in a place."""

    user: UserBrief
    is_service_account: bool
    role: v.Role
    assignments: list[RoleAssignment]


class Placement(ApiRecord):
    """Placement of an answer."""

    node: str
    slots: list[int]
    n_servers: int


class PlanAlternative(ApiRecord):
    """PlanAlternative of an answer."""

    goal: v.GoalEnum
    run: PlannedRun
    finish_delta_s: float
    gpu_hours_delta: float


class PlannedRun(ApiRecord):
    """What would become of the job. n_workers: while it waits, the size that it would start with at least."""

    decision: v.DecisionKind
    mode: str
    n_workers: int
    n_servers: int
    start_at: datetime | None
    finish_at: datetime | None
    finish_p90_at: datetime | None
    explanations: list[Explanation]
    gpu_type: str
    nodes: list[str]
    start_p90_at: datetime | None
    gpu_hours: float | None


class PlatformCheck(ApiRecord):
    """One thing that was looked at."""

    name: v.PlatformCheckNameEnum
    state: v.PlatformCheckStateEnum
    meaning: str
    detail: str
    remedy: str


class PlatformChecks(ApiRecord):
    """What the checks of the installation found, in their order."""

    checks: list[PlatformCheck]


class PlatformSetting(ApiRecord):
    """One setting."""

    group: v.GroupEnum
    name: str
    kind: v.PlatformSettingKindEnum
    value: str


class PlatformSettings(ApiRecord):
    """What is set up in the installation."""

    settings: list[PlatformSetting]


class PodUsage(ApiRecord):
    """PodUsage of an answer."""

    role: v.PodRole
    index: int
    points: list[UsagePoint]


class Point(ApiRecord):
    """Point of an answer."""

    step: int
    epoch: float
    value: float
    at: datetime
    attempt_number: int


class Policy(ApiRecord):
    """Policy of an answer."""

    name: str
    parameters: dict[str, Any]


class PolicyFigures(ApiRecord):
    """PolicyFigures of an answer."""

    n_jobs: int
    mean_jct_s: float
    median_jct_s: float
    p99_jct_s: float
    curve: list[list[float]]
    makespan_s: float
    gpu_use: float
    n_restarts: int
    decide_ms: float
    by_organisation: list[OrganisationTimes]
    worst_hit: list[WorstHit]


class Predictions(ApiRecord):
    """The answers of a trained model, in the order of the rows."""

    predictions: list[dict[str, Any]]


class Profile(ApiRecord):
    """A recording of torch's profiler."""

    id: str
    attempt_number: int
    steps: int
    state: v.RecordingState
    reason: str
    requested_by: str | None
    requested_at: datetime
    ended_at: datetime | None
    traces: list[ProfileTrace]


class ProfileDetail(ApiRecord):
    """A recording of torch's profiler, with the dearest operators of each worker."""

    id: str
    attempt_number: int
    steps: int
    state: v.RecordingState
    reason: str
    requested_by: str | None
    requested_at: datetime
    ended_at: datetime | None
    traces: list[ProfileTraceDetail]


class ProfileOperator(ApiRecord):
    """An operator of torch, over all its calls in the recorded steps."""

    name: str
    calls: int
    self_cpu_s: float
    cpu_s: float
    device_s: float
    self_memory_bytes: int


class ProfileParts(ApiRecord):
    """What the recorded steps consisted of: seconds of all of them together."""

    input: float
    compute: float
    sync: float
    wait: float


class ProfileToRecord(ApiRecord):
    """A recording that this pod is to make (mlhub/wire/profiles.py)."""

    id: str
    steps: int
    ranks: list[int]
    servers: list[int] | None
    first_step: int | None


class ProfileTrace(ApiRecord):
    """What one worker or parameter server recorded."""

    role: v.PodRole
    rank: int
    state: v.RecordingState
    reason: str
    note: str
    first_step: int | None
    n_steps: int
    size_bytes: int | None
    n_events: int
    n_left_out: int


class ProfileTraceDetail(ApiRecord):
    """What one pod recorded, in short."""

    role: v.PodRole
    rank: int
    state: v.RecordingState
    reason: str
    note: str
    first_step: int | None
    n_steps: int
    size_bytes: int | None
    n_events: int
    n_left_out: int
    step_s: ProfileParts | None
    operators: list[ProfileOperator] | None
    n_operators: int


class Project(ApiRecord):
    """Project of an answer."""

    id: str
    name: str
    organisation: OrganisationBrief
    team: TeamBrief | None
    is_own: bool
    created_at: datetime
    archived_at: datetime | None


class ProjectBrief(ApiRecord):
    """A project as datasets, models and jobs show where they live."""

    id: str
    name: str
    organisation: OrganisationBrief


class ProjectContents(ApiRecord):
    """ProjectContents of an answer."""

    counts: dict[str, int]
    n_bytes: int
    shared_bytes: int
    refusals: list[DeletionRefusal]
    checkpoint_bytes: int
    deletion: ProjectDeletion | None


class ProjectDays(ApiRecord):
    """ProjectDays of an answer."""

    days: float | None
    rule_of: v.RuleOwner
    chosen_days: float | None
    clamped_by: RetentionBound | None
    project: NamedRow
    kind: v.KeptKind


class ProjectDeletion(ApiRecord):
    """ProjectDeletion of an answer."""

    id: str
    organisation_id: str
    name: str
    requested_at: datetime
    counts: dict[str, int]
    n_total: int
    n_removed: int
    step: str
    problem: str
    bytes_removed: int
    shared_blobs: int
    later_blobs: int
    ended_at: datetime | None
    n_machines_left: int
    machines_left: list[str]
    project_id: str


class ProjectRole(ApiRecord):
    """A role of the user in a project, besides that in its organisation."""

    project: str
    role: v.Role


class Prospect(ApiRecord):
    """What would become of a job. n_workers: 0 while it waits."""

    decision: v.DecisionKind
    mode: str
    n_workers: int
    n_servers: int
    start_at: datetime | None
    finish_at: datetime | None
    finish_p90_at: datetime | None
    explanations: list[Explanation]


class Protection(ApiRecord):
    """Protection of an answer."""

    name: str
    is_present: bool
    is_separating: bool
    detail: str
    consequence: str


class ProviderAddress(ApiRecord):
    """ProviderAddress of an answer."""

    address: str


class QuarantineRecord(ApiRecord):
    """Something that the control loop could not read or handle, and left out so that all else was scheduled."""

    kind: v.ItemKind
    name: str
    reason: str
    remedy: str
    job: QuarantinedJob | None
    since: datetime
    last_seen_at: datetime
    ended_at: datetime | None


class QuarantinedJob(ApiRecord):
    """QuarantinedJob of an answer."""

    id: str
    name: str


class Queue(ApiRecord):
    """In the order in which the scheduler serves them. next: the address of what comes after these."""

    next: str | None
    previous: str | None
    results: list[QueuedJob]


class QueuePosition(ApiRecord):
    """QueuePosition of an answer."""

    is_running: bool
    n_before: int
    problem: str


class QueuedJob(ApiRecord):
    """place: among all that wait, others' jobs too, from 1; null until a round has seen the job."""

    id: str
    kind: v.JobKind
    name: str
    project: ProjectBrief
    created_by: UserBrief
    cloned_from: str | None
    dataset_version: DatasetVersionBrief | None
    datasets: list[FurtherDataset]
    model_version: ModelVersionBrief
    epochs: int
    batch_size: int
    hyperparameters: dict[str, Any]
    hints: list[str]
    seed: int
    mode: v.ModeEnum
    strategy: dict[str, Any]
    min_workers: int
    max_workers: int
    priority: int
    resources: Resources
    limits: Limits
    environment: dict[str, str]
    secrets: list[str]
    image: str
    target_metric: str
    target_value: float | None
    state: v.JobState
    intent: v.IntentEnum
    reason: str
    explanations: list[Explanation]
    pause_reason: str
    preflight: v.PreflightEnum
    validation_problem: str
    profile: dict[str, Any]
    failure: Failure | None
    steps_done: int
    steps_total: int
    step_unit: v.StepUnitEnum
    epoch: float
    step_s: float | None
    progress: float | None
    result_metrics: dict[str, float]
    result_version: str | None
    submitted_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    waited_s: float | None
    trained_s: float | None
    jct_s: float | None
    predicted_start_at: datetime | None
    predicted_start_p90_at: datetime | None
    predicted_finish_at: datetime | None
    predicted_finish_p90_at: datetime | None
    first_predicted_finish_at: datetime | None
    current_attempt: Attempt | None
    tags: list[str]
    gpu_hours: float
    place: int | None


class Quota(ApiRecord):
    """null = no limit, and no guarantee. Guarantees and limits count GPUs.

    shares_fairly: what none of its parts is guaranteed goes to them by weight, whatever the policy. half_life_s: of
    their use, by which it is their turn; 0 = only what they hold now counts.
    """

    max_gpus: int | None
    gpus_by_type: dict[str, int]
    max_cpus: int | None
    max_memory_bytes: int | None
    max_running_jobs: int | None
    max_waiting_jobs: int | None
    max_storage_bytes: int | None
    guarantee: int | None
    guarantee_by_type: dict[str, int]
    borrow_limit: int | None
    borrow_limit_by_type: dict[str, int]
    lend_limit: int | None
    lend_limit_by_type: dict[str, int]
    reclaim: v.ReclaimEnum
    weight: float
    shares_fairly: bool
    half_life_s: float
    max_priority: int | None
    budgets: list[BudgetUse]
    version: int
    used: QuotaUsed
    boosted_gpus: int
    overcommitted: list[Overcommitment]


class QuotaBoost(ApiRecord):
    """GPUs that are added to the rules of a quota for a time; boosts of one owner add up."""

    id: str
    extra_guarantee: int
    extra_guarantee_by_type: dict[str, int]
    extra_max_gpus: int
    extra_gpus_by_type: dict[str, int]
    starts_at: datetime
    ends_at: datetime
    is_in_effect: bool
    reason: str
    created_by: str
    created_at: datetime


class QuotaBoostMade(ApiRecord):
    """A boost that was just made, and what the cluster cannot honour since, or from its beginning on."""

    id: str
    extra_guarantee: int
    extra_guarantee_by_type: dict[str, int]
    extra_max_gpus: int
    extra_gpus_by_type: dict[str, int]
    starts_at: datetime
    ends_at: datetime
    is_in_effect: bool
    reason: str
    created_by: str
    created_at: datetime
    overcommitted: list[Overcommitment]


class QuotaEffect(ApiRecord):
    """QuotaEffect of an answer."""

    used_gpus: int
    used_gpus_with_job: int
    max_gpus: int | None
    guarantee: int | None


class QuotaLimits(ApiRecord):
    """The limits alone; with what is used: GET /organisations/{id}/quota."""

    max_gpus: int | None
    max_running_jobs: int | None
    max_storage_bytes: int | None
    version: int


class QuotaOwner(ApiRecord):
    """A node of the tree: its rules, and its books now, in GPUs, with all below it.

    guaranteed: guarantee, or the sum of those below if that is more. borrowed: used above it. lent: of it, in use
    by
    others. queued_gpus: what waiting jobs need at least.
    """

    kind: str
    id: str
    name: str
    above: str | None
    max_gpus: int | None
    max_running_jobs: int | None
    gpus_by_type: dict[str, int]
    guarantee_by_type: dict[str, int]
    borrow_limit_by_type: dict[str, int]
    lend_limit_by_type: dict[str, int]
    books_by_type: dict[str, TypeBooks]
    max_cpus: int | None
    max_memory_bytes: int | None
    max_waiting_jobs: int | None
    max_storage_bytes: int | None
    guarantee: int | None
    borrow_limit: int | None
    lend_limit: int | None
    reclaim: v.ReclaimEnum
    weight: float
    shares_fairly: bool
    half_life_s: float
    max_priority: int | None
    version: int
    guaranteed: int
    used: int
    borrowed: int
    lent: int
    budgets: list[BudgetUse]
    boosts: list[QuotaBoost]
    boosts_to_come: list[QuotaBoost]
    overcommitted: list[Overcommitment]
    used_by_type: dict[str, int]
    used_cpus: float
    used_memory_bytes: int
    running_jobs: int
    waiting_jobs: int
    queued_gpus: int
    storage_bytes: int | None


class QuotaTree(ApiRecord):
    """Parents before children. may_edit: the caller may change quotas of all teams and projects."""

    may_edit: bool
    editable: list[str] | None
    owners: list[QuotaOwner]


class QuotaUsed(ApiRecord):
    """QuotaUsed of an answer."""

    gpus: int
    cpus: float
    memory_bytes: int
    running_jobs: int
    waiting_jobs: int
    storage_bytes: int


class QuotaVersion(ApiRecord):
    """A change of a quota."""

    version: int
    at: datetime
    actor: str | None
    before: dict[str, Any]
    after: dict[str, Any]


class Rack(ApiRecord):
    """Rack of an answer."""

    name: str
    uplink_bps: float
    nodes: list[Node]


class RecentRounds(ApiRecord):
    """Of the last hour: the rounds that are stored, which are all that change something, and the age of the queue."""

    n_rounds: int
    round_p50_ms: float | None
    round_p99_ms: float | None
    n_decisions: int
    oldest_pending_s: float | None


class Reclaimable(ApiRecord):
    """Reclaimable of an answer."""

    n_items: int
    n_jobs: int
    n_bytes: int
    kind: v.KeptKind


class RecoveryCodes(ApiRecord):
    """RecoveryCodes of an answer."""

    recovery_codes: list[str]


class Refusal(ApiRecord):
    """Why inspection refused a version, and what to do about it."""

    code: str | None
    field: str | None
    message: str
    remedy: str
    traceback: str | None


class RefusedMeasurement(ApiRecord):
    """A value that cannot be true: nothing is learnt or decided from it."""

    attempt_number: int
    field: str
    value: float
    reason: str
    n: int
    at: datetime


class Remainder(ApiRecord):
    """Remainder of an answer."""

    kind: str
    n: int
    n_running: int


class RemovedPart(ApiRecord):
    """What was removed because its time was over, as the platform's settings have it."""

    kind: v.RemovedPartKindEnum
    before: datetime
    kept_days: float
    n_removed: int
    at: datetime


class Replay(ApiRecord):
    """Replay of an answer."""

    id: str
    name: str
    created_by: str | None
    created_at: datetime
    since: datetime | None
    until: datetime | None
    trace_name: str
    policies: list[ReplayPolicy]
    state: v.ReplayState
    progress: ReplayProgress | None
    error: str
    started_at: datetime | None
    ended_at: datetime | None


class ReplayDetail(ApiRecord):
    """ReplayDetail of an answer."""

    id: str
    name: str
    created_by: str | None
    created_at: datetime
    since: datetime | None
    until: datetime | None
    trace_name: str
    policies: list[ReplayPolicy]
    state: v.ReplayState
    progress: ReplayProgress | None
    error: str
    started_at: datetime | None
    ended_at: datetime | None
    result: ReplayResult | None


class ReplayPolicy(ApiRecord):
    """ReplayPolicy of an answer."""

    name: str
    parameters: dict[str, Any] | None


class ReplayProgress(ApiRecord):
    """ReplayProgress of an answer."""

    policy: str
    n_done: int
    n_jobs: int


class ReplayResult(ApiRecord):
    """ReplayResult of an answer."""

    reproduction: Reproduction | None
    policies: list[ReplayedPolicy]
    real: Times | None
    n_jobs: int
    n_before: int
    left_out: dict[str, int]
    n_policies: int
    n_rounds: int | None
    rounds_from: datetime | None
    rounds_until: datetime | None
    n_absences: int
    n_nodes: int
    n_gpus: int


class ReplayedPolicy(ApiRecord):
    """ReplayedPolicy of an answer."""

    label: str
    policy: str
    parameters: dict[str, Any]
    error: str
    figures: PolicyFigures | None


class Reproduction(ApiRecord):
    """How well the simulator gives what really happened, under the policy that ran."""

    n_jobs: int
    real_mean_jct_s: float
    simulated_mean_jct_s: float
    mean_error: float
    median_job_error: float
    p90_job_error: float


class RequestedQuota(ApiRecord):
    """What a member asks to be added to a quota, and what became of it."""

    id: str
    organisation: str
    owner: str
    owner_kind: str
    owner_name: str
    extra_guarantee: int
    extra_guarantee_by_type: dict[str, int]
    extra_max_gpus: int
    extra_gpus_by_type: dict[str, int]
    starts_at: datetime | None
    ends_at: datetime | None
    reason: str
    requested_by: str
    created_at: datetime
    state: v.RequestedQuotaStateEnum
    note: str
    answered_by: str
    answered_at: datetime | None


class RequiringModel(ApiRecord):
    """RequiringModel of an answer."""

    id: str
    name: str


class RequiringVersion(ApiRecord):
    """A version of code that requires the environment."""

    id: str
    number: int
    model: RequiringModel


class Resources(ApiRecord):
    """What each pod of the job gets. What is left out, MLHub takes from its own measurements."""

    cpus: float | None
    memory_gib: float | None
    n_servers: int | None
    server_memory_gib: float | None
    n_workers: int | None
    gpu_types: list[str] | None


class ResultFile(ApiRecord):
    """ResultFile of an answer."""

    name: str
    size_bytes: int


class ResumableUpload(ApiRecord):
    """ResumableUpload of an answer."""

    id: str
    project: ProjectBrief
    filename: str
    length_bytes: int
    offset_bytes: int | None
    is_partial: bool | None
    created_at: datetime
    written_at: datetime
    expires_at: datetime | None


class Retention(ApiRecord):
    """Retention of an answer."""

    version: int
    may_edit: bool
    organisation: NamedRow
    kinds: list[RetentionKind]


class RetentionBound(ApiRecord):
    """RetentionBound of an answer."""

    owner: v.RuleOwner
    side: v.BoundSide
    days: float


class RetentionEffect(ApiRecord):
    """RetentionEffect of an answer."""

    n_items: int
    n_jobs: int
    n_bytes: int
    project: NamedRow
    kind: v.KeptKind
    days_before: float | None
    days_after: float | None
    clamped_by: RetentionBound | None


class RetentionKind(ApiRecord):
    """RetentionKind of an answer."""

    days: float | None
    rule_of: v.RuleOwner
    chosen_days: float | None
    clamped_by: RetentionBound | None
    kind: v.KeptKind
    is_own: bool
    installation_days: float | None
    default_days: float | None
    default_of: v.RuleOwner
    bounds: list[RetentionBound]
    stored: StoredPart
    due: StoredPart


class RoleAssignment(ApiRecord):
    """Where a role comes from."""

    binding: str | None
    role: v.Role
    place: v.PlaceEnum
    place_id: str | None
    place_name: str


class RoleBinding(ApiRecord):
    """RoleBinding of an answer."""

    id: str
    user: UserBrief
    role: v.BoundRole
    team: str | None
    project: str | None
    created_by: UserBrief | None
    created_at: datetime


class Round(ApiRecord):
    """round_ms: from looking at the backend to the last change; of it decide_ms the policy."""

    id: int
    at: datetime
    policy: str
    parameters: Any
    applied: list[Applied]
    decide_ms: float
    round_ms: float
    n_jobs: int
    error: str
    shadow: ShadowBrief | None


class RoundDetail(ApiRecord):
    """With what it saw and answered: `python -m scheduler replay` decides it again."""

    id: int
    at: datetime
    policy: str
    parameters: Any
    applied: list[Applied]
    decide_ms: float
    round_ms: float
    n_jobs: int
    error: str
    shadow: ShadowDetail | None
    snapshot: dict[str, Any]
    plan: dict[str, Any] | None


class RoundsStatus(ApiRecord):
    """Whether scheduling rounds are made. Running jobs go on without them; nothing is started or stopped."""

    attempted_at: datetime | None
    stopped_since: datetime | None
    cause: v.StopCause | None
    message: str


class Run(ApiRecord):
    """A run that a program logged by the MLflow protocol."""

    id: str
    name: str
    status: v.RunStatus
    project: ProjectBrief
    created_by: UserBrief
    parent_job: str | None
    started_at: datetime
    ended_at: datetime | None


class RunCurve(ApiRecord):
    """RunCurve of an answer."""

    key: str
    n_points: int
    is_thinned: bool
    points: list[RunPoint]


class RunDataset(ApiRecord):
    """RunDataset of an answer."""

    name: str
    digest: str


class RunDetail(ApiRecord):
    """RunDetail of an answer."""

    id: str
    name: str
    status: v.RunStatus
    project: ProjectBrief
    created_by: UserBrief
    parent_job: str | None
    started_at: datetime
    ended_at: datetime | None
    n_params: int
    n_tags: int
    n_metrics: int
    n_artifacts: int
    n_datasets: int


class RunEntry(ApiRecord):
    """A parameter or a tag."""

    key: str
    value: str


class RunFile(ApiRecord):
    """RunFile of an answer."""

    path: str
    size_bytes: int


class RunMetric(ApiRecord):
    """RunMetric of an answer."""

    key: str
    n_points: int
    last_step: int
    last_value: float | None


class RunPoint(ApiRecord):
    """RunPoint of an answer."""

    step: int
    at: datetime
    value: float | None


class SandboxReport(ApiRecord):
    """What one machine's sandbox keeps uploaded code from."""

    host: str
    reported_at: datetime
    error: str
    separates_tenants: bool
    protections: list[Protection]


class SandboxTask(ApiRecord):
    """SandboxTask of an answer."""

    version: int
    arguments: list[Any]
    timeout_s: float
    memory_bytes: int
    scratch_bytes: int


class SchedulerFailure(ApiRecord):
    """kind: raised, overran (its time), died (with its process). round: where it is stored, if it is."""

    at: datetime
    policy: str
    kind: str
    message: str
    round: int | None


class SchedulerSettings(ApiRecord):
    """shadow_policy: "" = none. budget_s: how long a policy may take for a round."""

    policy: str | None
    parameters: dict[str, Any]
    budget_s: float | None
    shadow_policy: str | None
    shadow_parameters: dict[str, Any]
    shares_fairly: bool | None
    half_life_s: float | None
    version: int
    updated_at: datetime
    policies: list[str]
    known: list[Policy]


class SchedulerStatus(ApiRecord):
    """policy: what decides now; the fallback policy while chosen_policy fails. n_failures: in a row."""

    policy: str
    chosen_policy: str
    fallback_since: datetime | None
    n_failures: int
    failure: SchedulerFailure | None
    round_at: datetime | None
    round_ms: float
    decide_ms: float
    n_waiting: int
    rounds: RoundsStatus
    backend_away_since: datetime | None
    backend_message: str
    admission: Admission
    offers_notebooks: bool
    no_notebooks_because: str


class SecondFactor(ApiRecord):
    """SecondFactor of an answer."""

    is_enabled: bool
    n_recovery_codes: int
    has_password: bool
    is_recovering: bool


class Secret(ApiRecord):
    """A secret without its value, which no answer contains."""

    name: str
    set_by: UserBrief | None
    created_at: datetime
    updated_at: datetime


class Series(ApiRecord):
    """Series of an answer."""

    key: str
    points: list[Point]
    is_thinned: bool


class Servers(ApiRecord):
    """Parameter servers of a job on a node."""

    job: SlotJob
    n: int


class ServiceAccount(ApiRecord):
    """ServiceAccount of an answer."""

    id: str
    username: str
    role: v.Role
    is_active: bool
    created_at: datetime
    last_used_at: datetime | None


class Session(ApiRecord):
    """Session of an answer."""

    id: str
    created_at: datetime
    address: str | None
    user_agent: str | None
    method: v.MethodEnum | None
    is_current: bool


class SettingDifference(ApiRecord):
    """SettingDifference of an answer."""

    name: str
    before: Any | None
    after: Any | None


class SetupStatus(ApiRecord):
    """SetupStatus of an answer."""

    is_needed: bool


class ShadowBrief(ApiRecord):
    """What the second policy would have done. mean_finish_s: mean predicted time to the end of jobs, its and the real
    policy's.
    """

    policy: str
    decide_ms: float
    n_jobs: int
    n_different: int
    mean_finish_s: float | None
    real_mean_finish_s: float | None
    error: str


class ShadowDetail(ApiRecord):
    """ShadowDetail of an answer."""

    policy: str
    decide_ms: float
    n_jobs: int
    n_different: int
    mean_finish_s: float | None
    real_mean_finish_s: float | None
    error: str
    parameters: Any
    differences: list[Difference]


class ShadowSummary(ApiRecord):
    """Over the newest rounds. mean_finish_s: mean predicted time to the end, the shadow's and the real policy's."""

    policy: str
    n_rounds: int
    n_failed: int
    n_decisions: int
    n_different: int
    decide_ms: float | None
    mean_finish_s: float | None
    real_mean_finish_s: float | None
    last_error: str


class Shard(ApiRecord):
    """A file of a version of many: what was asked for, and what was found."""

    uri: str
    name: str
    sha256: str
    etag: str
    stored: str
    size_bytes: int | None
    found: Found


class Side(ApiRecord):
    """What a policy would do with a job."""

    decision: str
    reason: str | None
    mode: str | None
    n_workers: int | None
    n_servers: int | None


class SignInMethods(ApiRecord):
    """SignInMethods of an answer."""

    single_sign_on: str | None
    has_passwords: bool
    has_passkeys: bool
    passkey_origin: str | None
    sends_password_links: bool
    refusal: SignInRefusal | None


class SignInRefusal(ApiRecord):
    """SignInRefusal of an answer."""

    code: str
    message: str
    remedy: str


class SimulatedMove(ApiRecord):
    """What the move would take and change. Nothing of it is done."""

    policy: str
    as_of: datetime
    decide_ms: float
    n_jobs: int
    present_priority: int
    priority: int
    present_place: int
    place: int
    is_reached: bool
    effects: list[Effect]


class Slot(ApiRecord):
    """Slot of an answer."""

    index: int
    job: SlotJob | None
    colocated: list[SlotJob]
    gpu: Gpu | None


class SlotJob(ApiRecord):
    """All fields are null for another organisation's job."""

    id: str | None
    name: str | None
    organisation: OrganisationBrief | None
    slowdown: JobSlowdown | None


class Slowdown(ApiRecord):
    """How much slower an attempt was while exactly one other gang used the same resource."""

    attempt_number: int
    other: str
    resource: v.ResourceEnum
    gpu_type: str
    step_s: float
    alone_s: float | None
    slowdown: float | None
    error: float | None
    n_steps: int
    at: datetime


class Source(ApiRecord):
    """Of a version by reference: what was asked for, and what was found."""

    uri: str
    n_shards: int | None
    sha256: str
    etag: str
    endpoint: str
    region: str
    secrets: dict[str, str]
    refresh_of: str | None
    found: Found
    progress: FetchProgress | None


class Speed(ApiRecord):
    """wait_s is a part of sync_s. staleness[s]: pushes used s versions late, over all servers; the last: or more."""

    attempt_number: int
    mode: str
    n_workers: int
    n_servers: int
    n_nodes: int
    n_racks: int
    gpu_type: str
    batch_size: int
    step_s: float
    compute_s: float
    sync_s: float
    input_s: float
    wait_s: float
    n_steps: int
    is_shared: bool
    n_colocated_steps: int
    updated_at: datetime
    measured: list[MeasuredValue]
    staleness: list[int]
    n_discarded: int


class Speeds(ApiRecord):
    """What each attempt measured of itself: mean step times, split into their parts (seconds), and the rest."""

    samples: list[Speed]
    slowdowns: list[Slowdown]
    refused: list[RefusedMeasurement]
    workers: list[StepTimeBreakdown]


class Startup(ApiRecord):
    """Only the first attempt begins with the request; later ones begin with their launch."""

    number: int | None
    phases: list[StartupPhase]
    total_s: float
    is_complete: bool
    inputs: list[InputsOnNode]


class StartupPhase(ApiRecord):
    """StartupPhase of an answer."""

    name: v.StartupPhaseNameEnum
    started_at: datetime
    duration_s: float


class StepTimeBreakdown(ApiRecord):
    """What one worker's newest steps are made of, in seconds a step. wait_s is a part of sync_s."""

    worker: int
    node: str
    step: int
    n_steps: int
    step_s: float
    input_s: float
    compute_s: float
    sync_s: float
    wait_s: float
    at: datetime
    slowdown: float
    is_straggler: bool


class StoredPart(ApiRecord):
    """StoredPart of an answer."""

    n_items: int
    n_jobs: int
    n_bytes: int


class Strategy(ApiRecord):
    """mode: what it runs on; null: either. is_resizable: otherwise min_workers and max_workers must be the same."""

    name: v.StrategyName
    about: str
    mode: str | None
    is_resizable: bool
    other_names: list[str]
    parameters: list[StrategyParameter]


class StrategyParameter(ApiRecord):
    """Bounds are allowed themselves, but for a minimum that a value must be above."""

    name: str
    kind: str
    default: Any
    minimum: float | None
    maximum: float | None
    choices: list[str]


class Study(ApiRecord):
    """Study of an answer."""

    id: str
    name: str
    project: ProjectBrief
    created_by: UserBrief
    dataset_version: DatasetVersionBrief | None
    model_version: ModelVersionBrief | None
    settings: dict[str, Any]
    space: dict[str, Any]
    metric: str
    direction: v.Direction
    algorithm: v.Algorithm
    rungs: list[int]
    unit: v.StudyUnit
    has_dataset: bool
    eta: int
    seed: int
    max_parallel: int
    max_trials: int
    max_epochs: int | None
    max_gpu_hours: float | None
    state: v.StudyState
    reason: str
    problem: str
    trials: TrialCounts
    n_trials: int
    most_trials: int
    best: Trial | None
    epochs: float
    gpu_hours: float
    created_at: datetime
    finished_at: datetime | None


class Tag(ApiRecord):
    """Tag of an answer."""

    tag: str
    n_jobs: int


class Team(ApiRecord):
    """Team of an answer."""

    id: str
    name: str
    organisation: OrganisationBrief
    parent: TeamBrief | None


class TeamBrief(ApiRecord):
    """TeamBrief of an answer."""

    id: str
    name: str


class Timeline(ApiRecord):
    """Timeline of an answer."""

    since: datetime
    until: datetime
    now: datetime
    next_after: str | None
    nodes: list[TimelineNode]
    waiting: list[TimelineWaiting]
    n_waiting: int
    jobs: list[TimelineJob]


class TimelineBar(ApiRecord):
    """Times in seconds since the window's beginning."""

    first_gpu: int
    n_gpus: int
    since_s: float
    until_s: float
    job: int | None
    p50_s: float | None
    p90_s: float | None
    n: int


class TimelineJob(ApiRecord):
    """TimelineJob of an answer."""

    id: str
    name: str
    organisation: str
    submitted_at: datetime
    allocated_at: datetime | None


class TimelineMark(ApiRecord):
    """TimelineMark of an answer."""

    kind: v.TimelineMarkKindEnum
    gpu: int
    at_s: float
    job: int | None


class TimelineNode(ApiRecord):
    """TimelineNode of an answer."""

    name: str
    gpu_type: str
    n_gpus: int
    bars: list[TimelineBar]
    marks: list[TimelineMark]


class TimelineWaiting(ApiRecord):
    """Times in seconds since the window's beginning, at most its length; null: not predicted."""

    job: int
    start_p50_s: float
    start_p90_s: float | None
    finish_p50_s: float | None
    finish_p90_s: float | None


class Times(ApiRecord):
    """Completion times in seconds, from submission to the end."""

    n_jobs: int
    mean_jct_s: float
    median_jct_s: float
    p99_jct_s: float
    curve: list[list[float]]


class Token(ApiRecord):
    """Token of an answer."""

    id: str
    name: str
    prefix: str
    scopes: list[v.ScopesEnum]
    organisation: OrganisationBrief | None
    project: ProjectBrief | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None


class TokenCreated(ApiRecord):
    """TokenCreated of an answer."""

    id: str
    name: str
    prefix: str
    scopes: list[v.ScopesEnum]
    organisation: OrganisationBrief | None
    project: ProjectBrief | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    token: str


class Totals(ApiRecord):
    """Totals of an answer."""

    gpus: int
    free_gpus: int
    running_jobs: int
    queued_jobs: int


class TrainedOn(ApiRecord):
    """The dataset version that weights were trained on."""

    id: str
    number: int
    dataset: DatasetBrief


class Trial(ApiRecord):
    """Trial of an answer."""

    id: str
    number: int
    parameters: dict[str, Any]
    status: v.TrialStatus
    rung: int
    results: list[TrialResult]
    job: str | None
    epochs: float
    gpu_hours: float
    message: str
    created_at: datetime


class TrialCounts(ApiRecord):
    """Trials by status."""

    running: int
    waiting: int
    completed: int
    failed: int
    stopped: int


class TrialResult(ApiRecord):
    """What a trial had reached when it came to a rung."""

    epochs: float
    step: int
    value: float
    at: datetime | None
    study_gpu_hours: float | None


class TypeBooks(ApiRecord):
    """GPUs of one type, with all below."""

    guaranteed: int
    used: int
    borrowed: int
    lent: int


class UsageOverTime(ApiRecord):
    """What the pods of one attempt used."""

    attempt_number: int | None
    resources: list[UsedResource]
    pods: list[PodUsage]
    next_pod: int | None


class UsagePoint(ApiRecord):
    """UsagePoint of an answer."""

    at: datetime
    values: dict[str, float]


class UsageReport(ApiRecord):
    """UsageReport of an answer."""

    by: v.UsageReportByEnum
    since: datetime
    until: datetime
    currency: str
    rows: list[UsageRow]
    total: UsageRow


class UsageRow(ApiRecord):
    """UsageRow of an answer."""

    key: str
    name: str
    gpu_hours: float
    useful_gpu_hours: float
    startup_gpu_hours: float
    lost_gpu_hours: float
    measured_gpu_hours: float
    busy_gpu_hours: float | None
    idle_gpu_hours: float | None
    cost: float | None
    n_jobs: int


class UsedResource(ApiRecord):
    """UsedResource of an answer."""

    name: str
    title: str
    unit: v.UnitEnum
    about: str


class UsedUntil(ApiRecord):
    """UsedUntil of an answer."""

    at: datetime
    gpu_hours: float


class User(ApiRecord):
    """User of an answer."""

    id: str
    username: str
    email: str
    is_active: bool
    is_staff: bool
    has_password: bool
    created_at: datetime
    last_sign_in_at: datetime | None
    service_of: OrganisationBrief | None
    memberships: list[MyMembership]


class UserBrief(ApiRecord):
    """UserBrief of an answer."""

    id: str
    username: str


class UserCreated(ApiRecord):
    """UserCreated of an answer."""

    id: str
    username: str
    email: str
    is_active: bool
    is_staff: bool
    has_password: bool
    created_at: datetime
    last_sign_in_at: datetime | None
    service_of: OrganisationBrief | None
    memberships: list[MyMembership]
    link: str
    link_expires_at: datetime


class UserDeletion(ApiRecord):
    """UserDeletion of an answer."""

    remains: list[Remainder]
    sole_owner_of: list[str]


class UserQuota(ApiRecord):
    """What one user may have of an organisation, a team or a project, with all below it."""

    id: str
    kind: v.UserQuotaKindEnum
    owner: str
    owner_name: str
    organisation: str
    user: UserBrief | None
    max_gpus: int | None
    gpus_by_type: dict[str, int]
    max_cpus: int | None
    max_memory_bytes: int | None
    max_running_jobs: int | None
    max_waiting_jobs: int | None
    max_storage_bytes: int | None
    budgets: list[Budget]
    version: int
    used: UserUse | None


class UserQuotas(ApiRecord):
    """UserQuotas of an answer."""

    may_edit: bool
    limits: list[UserQuota]


class UserUse(ApiRecord):
    """UserUse of an answer."""

    gpus: int
    gpus_by_type: dict[str, int]
    cpus: float
    memory_bytes: int
    running_jobs: int
    waiting_jobs: int
    storage_bytes: int | None
    budgets: list[BudgetUse]


class Verification(ApiRecord):
    """Verification of an answer."""

    is_intact: bool
    n_events: int
    head: str
    problem: str


class VersionDifference(ApiRecord):
    """VersionDifference of an answer."""

    is_same_content: bool
    facts: list[FactDifference]
    columns: list[ColumnDifference]
    n_columns_left_out: int
    classes: list[ClassDifference]
    n_classes_left_out: int
    files: list[DataFileDifference]
    n_files_left_out: int
    file_counts: FileCounts | None
    notes: list[str]


class VersionFile(ApiRecord):
    """VersionFile of an answer."""

    name: str
    sha256: str
    size_bytes: int


class Waits(ApiRecord):
    """Waits of an answer."""

    median_s: float | None
    n_jobs: int
    scope: v.ScopeEnum
    since: datetime


class Webhook(ApiRecord):
    """Webhook of an answer."""

    id: str
    url: str
    topics: list[v.WebhookTopic]
    is_active: bool
    disabled_reason: str
    failing_since: datetime | None
    created_at: datetime


class WebhookCreated(ApiRecord):
    """WebhookCreated of an answer."""

    id: str
    url: str
    topics: list[v.WebhookTopic]
    is_active: bool
    disabled_reason: str
    failing_since: datetime | None
    created_at: datetime
    secret: str


class WhatIfAnswer(ApiRecord):
    """basis: what the prediction of the hypothetical job rests on: measured, validated (its speed), guessed, or blank.

    n_jobs: that took part, others' too. effects: on the jobs that you may see and that are affected.
    """

    policy: str
    as_of: datetime
    decide_ms: float
    n_jobs: int
    basis: str
    effects: list[Effect]
    overcommitted: list[Overcommitment]
    below_use: list[BelowUse]
    stop_grace_s: float


class Why(ApiRecord):
    """place: among all that wait, from 1. costs: of the job's family. history: newest first."""

    job: str
    state: v.JobState
    headline: str
    explanations: list[Explanation]
    place: int | None
    predicted_start_at: datetime | None
    predicted_start_p90_at: datetime | None
    predicted_finish_at: datetime | None
    predicted_finish_p90_at: datetime | None
    costs: Costs
    history: list[Decision]
    analysis: Analysis | None
    note: str


class WorstHit(ApiRecord):
    """WorstHit of an answer."""

    job: str
    name: str
    organisation: str
    jct_s: float
    baseline_jct_s: float
