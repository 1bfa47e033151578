# SPDX-License-Identifier: Apache-2.0
"""GPU-hours used, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.views import AnyAccept, read_query
from mlhub.tenants.models import Organisation, Project, Team, User
from mlhub.tenants.named import id_of_named
from mlhub.tenants.sign_in.authentication import caller
from mlhub.usage import ledger
from mlhub.usage.api.serializers import UsageQuerySerializer, UsageReportSerializer, UsageRowSerializer
from mlhub.usage.reports import Dimension, UsageReport, UsageScope, Window, report

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets would compute


class UsageView(APIView):
    @extend_schema(parameters=[UsageQuerySerializer], responses=UsageReportSerializer)
    def get(self, request: Request) -> Response:
        """GPU-hours held by attempts, running ones included, and what became of them.

        Of the caller's organisations; for an outsider of one, of the projects in which a role is held there.
        """
        query = read_query(UsageQuerySerializer, request)
        found = _report(request, query)
        shown = {"currency": settings.CURRENCY, "rows": found.rows, "total": found.total}
        return Response(UsageReportSerializer({**query, **shown}).data)


class UsageExportView(APIView):
    content_negotiation_class = AnyAccept

    @extend_schema(parameters=[UsageQuerySerializer], responses={(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request) -> HttpResponse:
        """The same as a CSV file."""
        query = read_query(UsageQuerySerializer, request)
        rows = UsageRowSerializer(_report(request, query).rows, many=True).data
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\r\n")
        names = [query["by"], *(name for name in UsageRowSerializer().fields if name != "name")]
        writer.writerow([*names, "currency"])
        for row in rows:
            cells = [cell(row["name"]), *(cell(row[name]) for name in names[1:])]
            writer.writerow([*cells, settings.CURRENCY])
        name = f"usage-by-{query['by']}-{query['since']:%Y%m%d}-{query['until']:%Y%m%d}.csv"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8", headers=headers)


def _report(request: Request, query: dict[str, Any]) -> UsageReport:
    """Raises NotFoundError for an organisation that the caller does not see, InvalidInputError for namesakes."""
    user, asked = caller(request), {"organisation": Organisation, "project": Project}
    ids = {name: id_of_named(m, query[name], user=user, field=name) for name, m in asked.items() if query.get(name)}
    scope, project = _scope(user, ids.get("organisation")), ids.get("project")
    running = ledger.running_entries(
        now=timezone.now(), organisations=scope.organisations, projects=scope.projects, project=project
    )
    return report(
        by=Dimension(query["by"]),
        window=Window(query["since"], query["until"]),
        scope=scope,
        project=project,
        running=running,
        prices=settings.GPU_PRICES,
        team=query.get("team"),
    )


def _scope(user: User, organisation: UUID | None) -> UsageScope:
    """What of it the caller may see: whole organisations, and of others the projects in which a role is held."""
    whole, projects = Organisation.objects.visible_to(user), Project.objects.visible_to(user)
    token = user.acting_token
    if token is not None and token.project is not None:
        if organisation is not None:
            whole.get_visible(user, organisation, field="organisation")  # raises: it reaches one project
        return _with_parts([], projects.filter(pk=token.project.pk), user)
    if organisation is None:
        seen = list(whole.values_list("pk", flat=True))
        return UsageScope(None) if user.is_staff else _with_parts(seen, projects.exclude(organisation__in=seen), user)
    if whole.filter(pk=organisation).exists():
        return UsageScope([organisation])
    parts = projects.filter(organisation=organisation)
    if not parts.exists():
        whole.get_visible(user, organisation, field="organisation")  # raises
    return _with_parts([], parts, user)


def _with_parts(organisations: list[UUID], parts: QuerySet[Project], user: User) -> UsageScope:
    """parts: projects of others. Their teams may be named, and those in which the caller has a role."""
    projects = dict(parts.values_list("pk", "team"))
    teams = {*Team.objects.visible_to(user).values_list("pk", flat=True), *projects.values()} if projects else set()
    return UsageScope(organisations, list(projects), [team for team in teams if team is not None])


def cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value
