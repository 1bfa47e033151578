"""The addresses of the rooms that stand already; gone once mlhub.urls can be imported."""

from django.contrib import admin
from django.urls import include, path, re_path

from mlhub.core import health
from mlhub.core.dashboard import dashboard

urlpatterns = [
    path("api/v1/", include("mlhub.tenants.api.urls")),
    path("api/v1/", include("mlhub.datasets.api.urls")),
    path("api/v1/", include("mlhub.registry.api.urls")),
    path("healthz", health.alive),
    path("readyz", health.ready),
    path("admin/", admin.site.urls),
    re_path(r"^(?!api/|static/|admin/|assets/).*$", dashboard),
]
