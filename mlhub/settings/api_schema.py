# SPDX-License-Identifier: Apache-2.0
"""How the OpenAPI schema is made, and how its enumerations are called."""

from __future__ import annotations

from typing import Any

from mlhub._version import __version__

SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "MLHub",
    "DESCRIPTION": "Bring data and a model; MLHub decides the rest.",
    "VERSION": __version__,
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "PATH_CONVERTER_OVERRIDES": {"named": {"type": "string"}},  # StrictAutoSchema says more
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "mlhub.core.api.openapi.add_problems",
    ],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "ENUM_NAME_OVERRIDES": {
        "VersionState": "mlhub.datasets.models.VersionState",
        "EnvironmentState": "mlhub.environments.models.EnvironmentState",
        "ActionKindEnum": "mlhub.control.api.why.ACTION_KINDS",
        "JobKind": "mlhub.jobs.models.JobKind",
        "RunStatus": "mlhub.tracking.models.RunStatus",
        "RunAxis": "mlhub.tracking.comparison.RunAxis",
        "AxisEnum": "mlhub.metrics.points.comparison.Axis",
        "KindEnum": "mlhub.registry.models.Kind",
        "UploadedKind": "mlhub.registry.api.serializers.UPLOADED_KINDS",
        "JobState": "mlhub.jobs.api.serializers.STATES",
        "FailureCause": "mlhub.jobs.api.attempt_serializers.CAUSES",
        "StrategyName": "mlhub.jobs.api.strategy_serializers.STRATEGIES",
        "DecisionKind": "mlhub.control.models.DECISIONS",
        "StopCause": "mlhub.control.monitoring.round_health.STOP_CAUSES",
        "LinkKind": "mlhub.clusters.models.LinkKind",
        "KeptKind": "mlhub.jobs.retention.retention_rules.KIND_CHOICES",
        "RuleOwner": "mlhub.retention.api.serializers.OWNERS",
        "BoundSide": "mlhub.retention.api.serializers.SIDES",
        "RequestedQuotaStateEnum": "mlhub.control.api.quota_requests.STATES",
        "BudgetPeriod": "mlhub.tenants.quota_terms.budgets.PERIODS",
        "OnExhausted": "mlhub.tenants.quota_terms.budgets.ON_EXHAUSTED",
        "ItemKind": "mlhub.control.models.ITEM_KINDS",
        "WebhookTopic": "mlhub.webhooks.topics.CHOICES",
        "DeliveryTopic": "mlhub.webhooks.topics.DELIVERY_CHOICES",
        "RecordingState": "mlhub.metrics.models.RecordingState",
        "ReplayState": "mlhub.control.models.ReplayState",
        "MailTopic": "mlhub.webhooks.topics.MAIL_CHOICES",
        "StudyState": "mlhub.experiments.api.serializers.STUDY_STATES",
        "TrialStatus": "mlhub.experiments.api.serializers.TRIAL_STATUSES",
        "Algorithm": "mlhub.experiments.api.serializers.ALGORITHMS",
        "UnitEnum": "mlhub.metrics.api.serializers.UNITS",
        "StudyUnit": "mlhub.experiments.models.Unit",
        "Direction": "mlhub.experiments.models.Direction",
        "Role": "mlhub.tenants.api.serializers.ROLES",
        "BoundRole": "mlhub.tenants.api.roles.BOUND_ROLES",
        "PodRole": [("worker", "worker"), ("server", "server")],
    },
}
