# SPDX-License-Identifier: Apache-2.0
"""Addresses below /api/v1 that need jobs, cluster and scheduler at once."""

from django.urls import path

from mlhub.control.api import quota_views as quotas
from mlhub.control.api import scheduling_views as scheduling
from mlhub.control.api import views
from mlhub.control.api.admission_pause import AdmissionPauseView
from mlhub.control.api.agents import AgentCachesView, AgentNewsView, AgentsView, AgentSyncView, AgentView
from mlhub.control.api.boosts import QuotaBoostEndView, QuotaBoostsView
from mlhub.control.api.burn_down import BurnDownView
from mlhub.control.api.preview import JobPreviewView
from mlhub.control.api.queue_moves import QueueMovesView
from mlhub.control.api.quota_requests import (
    QuotaRequestApprovalView,
    QuotaRequestMakingView,
    QuotaRequestRefusalView,
    QuotaRequestsView,
    QuotaRequestWithdrawalView,
)
from mlhub.control.api.replays import ReplayCancelView, ReplayExportView, ReplaysView, ReplayView
from mlhub.control.api.timeline import TimelineView
from mlhub.control.api.user_quotas import MyLimitsView, UserQuotasView, UserQuotaView
from mlhub.control.api.waits import WaitsView
from mlhub.control.api.whatif import WhatIfView
from mlhub.control.api.why import WhyView
from mlhub.control.monitoring.platform_checks import PlatformChecksView
from mlhub.control.monitoring.platform_settings import PlatformSettingsView
from mlhub.tenants.models import Organisation, Project, Team

urlpatterns = [
    path("agents", AgentsView.as_view()),
    path("ingest/agents/sync", AgentSyncView.as_view()),
    path("ingest/agents/caches", AgentCachesView.as_view()),
    path("ingest/agents/news", AgentNewsView.as_view()),
    path("agents/<str:name>", AgentView.as_view()),
    path("cluster", views.ClusterView.as_view()),
    path("cluster/timeline", TimelineView.as_view()),
    path("cluster/nodes/<str:name>/cordon", views.NodeClosingView.as_view(verb="cordon")),
    path("cluster/nodes/<str:name>/drain", views.NodeClosingView.as_view(verb="drain")),
    path("cluster/nodes/<str:name>/uncordon", views.NodeClosingView.as_view(verb="uncordon")),
    path("organisations/<named:id>/quota", quotas.QuotaView.as_view()),
    path("organisations/<named:id>/quota-tree", quotas.QuotaTreeView.as_view()),
    path("teams/<named:id>/quota", quotas.TeamQuotaView.as_view()),
    path("projects/<named:id>/quota", quotas.ProjectQuotaView.as_view()),
    *(
        path(f"{kind}/<named:id>/quota/{verb}", view.as_view(model=model))
        for kind, model in (("organisations", Organisation), ("teams", Team), ("projects", Project))
        for verb, view in (
            ("versions", quotas.QuotaVersionsView),
            ("restore", quotas.QuotaRestoreView),
            ("boosts", QuotaBoostsView),
            ("requests", QuotaRequestMakingView),
            ("users", UserQuotasView),
            ("burn-down", BurnDownView),
        )
    ),
    path("user-quotas/mine", MyLimitsView.as_view()),
    path("user-quotas/<uuid:id>", UserQuotaView.as_view()),
    path("quota-boosts/<uuid:id>/end", QuotaBoostEndView.as_view()),
    path("quota-requests", QuotaRequestsView.as_view()),
    path("quota-requests/<uuid:id>/approve", QuotaRequestApprovalView.as_view()),
    path("quota-requests/<uuid:id>/refuse", QuotaRequestRefusalView.as_view()),
    path("quota-requests/<uuid:id>/withdraw", QuotaRequestWithdrawalView.as_view()),
    path("jobs/preview", JobPreviewView.as_view()),
    path("jobs/<named:id>/why", WhyView.as_view()),
    path("queue", scheduling.QueueView.as_view()),
    path("queue/waits", WaitsView.as_view()),
    path("queue/moves", QueueMovesView.as_view()),
    path("platform/checks", PlatformChecksView.as_view()),
    path("platform/settings", PlatformSettingsView.as_view()),
    path("what-if", WhatIfView.as_view()),
    path("rounds", scheduling.RoundsView.as_view()),
    path("rounds/<int:id>", scheduling.RoundView.as_view()),
    path("scheduler/settings", scheduling.SchedulerSettingsView.as_view()),
    path("scheduler/admission-pause", AdmissionPauseView.as_view()),
    path("scheduler/status", scheduling.SchedulerStatusView.as_view()),
    path("scheduler/insight", scheduling.InsightView.as_view()),
    path("scheduler/replays", ReplaysView.as_view()),
    path("scheduler/replays/<uuid:id>", ReplayView.as_view()),
    path("scheduler/replays/<uuid:id>/cancel", ReplayCancelView.as_view()),
    path("scheduler/replays/<uuid:id>/jobs.csv", ReplayExportView.as_view()),
]
