# SPDX-License-Identifier: Apache-2.0
# Written by `make client` from the schema: do not edit.
"""Enumerations."""

from __future__ import annotations

from typing import Literal

ActionByEnum = Literal["member", "administrator"]
ActionKindEnum = Literal[
    "fewer_workers",
    "more_workers",
    "any_gpu_type",
    "higher_priority",
    "larger_quota",
    "larger_quota_of_type",
    "larger_guarantee",
    "larger_borrow_limit",
    "larger_borrow_limit_of_type",
    "larger_quota_of_cpus",
    "larger_quota_of_memory",
    "more_running_jobs",
    "larger_user_limit",
    "larger_user_limit_of_type",
    "larger_user_limit_of_cpus",
    "larger_user_limit_of_memory",
    "more_user_running_jobs",
    "larger_budget",
    "larger_user_budget",
    "several_limits",
    "pause_job",
]
AgentStateEnum = Literal["expected", "connected", "closed", "silent", "lost"]
Algorithm = Literal["random", "grid", "asha", "tpe"]
AnnouncementStateEnum = Literal["scheduled", "current", "ended"]
AxisEnum = Literal["step", "wall", "gpu_hours", "epoch"]
BlankEnum = Literal[""]
BlockerKindEnum = Literal[
    "free_gpus",
    "placement",
    "quota_gpus",
    "quota_running_jobs",
    "quota_cpus",
    "quota_memory",
    "user_gpus",
    "user_running_jobs",
    "user_cpus",
    "user_memory",
    "borrow_limit",
    "borrow_limit_of_type",
    "borrowing",
    "budget",
    "user_budget",
]
BoundRole = Literal["admin", "member", "submitter", "viewer"]
BoundSide = Literal["at_least", "at_most"]
BudgetPeriod = Literal["day", "week", "month", "once"]
BulkRequestActionEnum = Literal["cancel", "pause", "resume", "delete", "tag", "untag", "priority"]
ChangeEnum = Literal["added", "removed", "changed"]
CostBasisEnum = Literal["unsaved", "family", "few", "others", "prior"]
DecisionKind = Literal["launch", "resize", "preempt", "keep", "wait"]
DeliveryStateEnum = Literal["waiting", "delivered", "failed"]
DeliveryTopic = Literal[
    "job.running",
    "job.succeeded",
    "job.failed",
    "job.cancelled",
    "job.paused",
    "job.preempted",
    "job.waiting_long",
    "dataset.ready",
    "dataset.refused",
    "quota.requested",
    "quota.request_approved",
    "quota.request_refused",
    "budget.reached",
    "user_budget.reached",
    "usage.weekly",
    "usage.monthly",
    "webhook.test",
]
Direction = Literal["maximize", "minimize"]
DocumentsEnum = Literal["whole", "paragraphs", "lines"]
EffectRoleEnum = Literal["submitted", "cancelled", "changed", "other"]
EndEnum = Literal["exited", "signal", "time", "processor_time", "memory", "processes", "disk", "system_call"]
EnvironmentState = Literal["building", "ready", "failed"]
ExamplesEnum = Literal["all", "held_out"]
FailureCause = Literal[
    "user_code",
    "not_a_number",
    "out_of_memory",
    "stalled",
    "storage_quota",
    "disk_full",
    "job_image",
    "secret",
    "crashed",
    "killed",
    "peer_lost",
    "timeout",
    "preempted",
    "bad_spec",
    "input_unavailable",
    "report_refused",
    "sandbox_failed",
    "gpu_unavailable",
    "io_error",
    "image",
    "volume",
    "quota",
    "taint",
    "unschedulable",
    "node_lost",
    "launch_failed",
    "unknown",
]
FaultEnum = Literal["user", "platform"]
FormatEnum = Literal[
    "npz", "csv", "parquet", "json_lines", "image_folder", "webdataset", "audio_folder", "text", "text_lines", "files"
]
GoalEnum = Literal["earliest", "cheapest", "by_date"]
GroupEnum = Literal["features", "sign_in", "limits", "retention"]
IntentEnum = Literal["run", "pause", "cancel"]
ItemKind = Literal["gang", "pod", "node", "gpu", "attempt", "job", "project", "quota", "step"]
JobKind = Literal["train", "predict", "evaluate", "notebook"]
JobSlowdownBasisEnum = Literal["measured", "predicted", "alone"]
JobState = Literal["queued", "starting", "running", "stopping", "paused", "succeeded", "failed", "cancelled"]
KeptKind = Literal["logs", "metrics", "usage", "results", "checkpoints", "failed_checkpoints"]
KindEnum = Literal["package", "script", "builtin", "mlflow"]
LimitEnum = Literal["log_rate", "log_bytes", "points_per_metric", "points_per_job", "metrics_per_job"]
LineageNodeKindEnum = Literal["dataset_version", "model_version", "job"]
LinkKind = Literal["nic", "uplink"]
MailTopic = Literal[
    "job.running",
    "job.succeeded",
    "job.failed",
    "job.cancelled",
    "job.paused",
    "job.preempted",
    "job.waiting_long",
    "user_budget.reached",
    "budget.reached",
    "usage.weekly",
    "usage.monthly",
]
MethodEnum = Literal["password", "single_sign_on", "passkey"]
ModeEnum = Literal["auto", "all_reduce", "parameter_server"]
MomentEnum = Literal["submission", "launch"]
OnExhausted = Literal["alert", "stop_new", "stop_all"]
OutputEnum = Literal["parquet", "npz"]
PartEnum = Literal["log", "metrics"]
PermissionActionEnum = Literal[
    "read",
    "submit",
    "upload",
    "create_projects",
    "change_others",
    "change_own_project",
    "change_settings",
    "request_quota",
    "limit_users",
    "assign_roles",
    "invite",
    "manage_teams",
    "share_quota",
    "change_quota",
    "see_origins",
    "create_organisations",
    "drain_nodes",
]
PlaceEnum = Literal["platform", "organisation", "team", "project"]
PlatformCheckNameEnum = Literal[
    "database", "valkey", "workers", "audit", "clock", "web", "rounds", "nodes", "sandbox", "gpus", "disk", "folder"
]
PlatformCheckStateEnum = Literal["ok", "problem", "unknown"]
PlatformSettingKindEnum = Literal["switch", "number", "bytes", "seconds", "days", "text"]
PodRole = Literal["worker", "server"]
PreflightEnum = Literal["pending", "passed", "failed"]
ReclaimEnum = Literal["never", "lower_priority", "any"]
RecordingState = Literal["waiting", "recording", "done", "failed"]
RemovedPartKindEnum = Literal["logs", "metrics", "events", "results"]
ReplayState = Literal["queued", "running", "succeeded", "failed", "cancelled"]
RequestedQuotaStateEnum = Literal["waiting", "approved", "refused", "withdrawn"]
ResourceEnum = Literal["gpu", "nic", "node", "uplink"]
Role = Literal["owner", "admin", "member", "submitter", "auditor", "viewer", "outsider"]
RuleOwner = Literal["project", "organisation", "installation"]
RunAxis = Literal["step", "wall"]
RunStatus = Literal["RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED"]
ScopeEnum = Literal["visible", "cluster"]
ScopesEnum = Literal["read", "submit", "write", "admin"]
SeverityEnum = Literal["information", "warning"]
SourceEnum = Literal["upload", "training", "logged"]
StartupPhaseNameEnum = Literal[
    "request",
    "validation_queue",
    "validation",
    "scheduling",
    "launch",
    "inputs",
    "import",
    "setup",
    "rendezvous",
    "first_batch",
]
StepUnitEnum = Literal["step", "epoch"]
StopCause = Literal["loop_away", "backend_away", "rounds_fail"]
StrategyName = Literal[
    "auto",
    "bsp",
    "hierarchical",
    "asp",
    "sparse_rows",
    "bounded_delay",
    "ssp",
    "softsync",
    "k_of_n",
    "downpour",
    "adag",
    "dynsgd",
    "easgd",
    "all_reduce",
    "model_averaging",
    "block_momentum",
    "elastic_averaging",
    "gossip",
    "random_gossip",
    "push_sum",
    "gosgd",
    "sufficient_factor_broadcasting",
    "sharded",
    "ensemble",
    "fully_sharded",
    "tensor",
    "hybrid",
    "pipeline",
    "single",
    "main_worker",
]
StreamEnum = Literal["reports", "log", "usage"]
StudyState = Literal["running", "paused", "completed", "stopped", "failed"]
StudyUnit = Literal["epochs", "steps"]
TargetsEnum = Literal["none"]
TimelineMarkKindEnum = Literal["preempted", "resized", "failed", "checkpoint"]
TokenizerEnum = Literal["byte", "word", "bpe"]
TrialStatus = Literal["running", "waiting", "completed", "failed", "stopped"]
UnitEnum = Literal["bytes", "bytes_per_second", "examples", "share", "seconds", "count"]
UploadedKind = Literal["package", "script", "builtin"]
UsageReportByEnum = Literal["organisation", "team", "project", "user", "gpu_type", "job", "outcome", "day"]
UserQuotaKindEnum = Literal["organisation", "team", "project"]
VersionEnum = Literal[1]
VersionState = Literal["fetching", "inspecting", "needs_columns", "ready", "refused"]
WebhookTopic = Literal[
    "job.running",
    "job.succeeded",
    "job.failed",
    "job.cancelled",
    "job.paused",
    "job.preempted",
    "job.waiting_long",
    "dataset.ready",
    "dataset.refused",
    "quota.requested",
    "quota.request_approved",
    "quota.request_refused",
    "budget.reached",
    "user_budget.reached",
    "usage.weekly",
    "usage.monthly",
]
