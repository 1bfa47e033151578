# SPDX-License-Identifier: Apache-2.0
"""Addresses: the API, its documentation, health, Django's admin, and the dashboard for everything else."""

from csp.decorators import csp_replace
from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from mlhub.control.monitoring import exporter, probes
from mlhub.core.web import health
from mlhub.core.web.dashboard import dashboard
from mlhub.core.web.headers import API_DOCUMENTATION_POLICY
from mlhub.tenants.api.single_sign_on_callback import callback
from mlhub.tenants.single_sign_on.provider import CALLBACK

documentation = csp_replace(API_DOCUMENTATION_POLICY)(SpectacularSwaggerSplitView.as_view(url_name="schema"))

api: list[URLPattern | URLResolver] = [
    path("", include("mlhub.tenants.api.urls")),
    path("", include("mlhub.storage.api.urls")),
    path("", include("mlhub.environments.api.urls")),
    path("", include("mlhub.datasets.api.urls")),
    path("", include("mlhub.registry.api.urls")),
    path("", include("mlhub.jobs.api.urls")),
    path("", include("mlhub.metrics.api.urls")),
    path("", include("mlhub.experiments.api.urls")),
    path("", include("mlhub.tracking.api.urls")),
    path("", include("mlhub.events.api.urls")),
    path("", include("mlhub.announcements.api.urls")),
    path("", include("mlhub.control.api.urls")),
    path("", include("mlhub.notebooks.api.urls")),
    path("", include("mlhub.usage.api.urls")),
    path("", include("mlhub.retention.api.urls")),
    path("", include("mlhub.webhooks.api.urls")),
    path("schema", SpectacularAPIView.as_view(), name="schema"),
    path("docs", documentation, name="docs"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", include(api)),
    path("", include("mlhub.tracking.api.protocol_urls")),
    path("api/v1/ingest/attempts/<uuid:attempt_id>/", include("mlhub.tracking.api.protocol_urls")),
    path("healthz", health.alive),
    path("healthz/rounds", probes.rounds),
    path("readyz", health.ready),
    path("metrics", exporter.metrics),
    path("admin/", admin.site.urls),
    path(CALLBACK, callback),
    re_path(r"^(?!api/|static/|admin/|assets/|metrics$).*$", dashboard),
]

handler400 = "mlhub.core.api.fallbacks.bad_request"
handler403 = "mlhub.core.api.fallbacks.permission_denied"
handler404 = "mlhub.core.api.fallbacks.not_found"
handler500 = "mlhub.core.api.fallbacks.server_error"
