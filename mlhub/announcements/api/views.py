# SPDX-License-Identifier: Apache-2.0
"""Announcements: what is said to the caller now; publishing and deleting them, for platform administrators."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.announcements import actions
from mlhub.announcements.api import serializers as s
from mlhub.announcements.models import Announcement, AnnouncementState, Severity
from mlhub.core.api.views import VisibleMixin, read_body
from mlhub.tenants.access_control.permissions import require_administrator
from mlhub.tenants.models import Organisation, User
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request


class AnnouncementsView(VisibleMixin, generics.ListAPIView[Announcement]):
    """Announcements, the newest first: for platform administrators all, for others those that are shown to them."""

    queryset = Announcement.objects.select_related("organisation", "published_by")
    serializer_class = s.AnnouncementSerializer

    @extend_schema(request=s.AnnouncementWriteSerializer, responses={201: s.AnnouncementSerializer})
    def post(self, request: Request) -> Response:
        """Publishes one: pages show it within seconds, or from its begin on. Platform administrators only."""
        require_administrator(request, self)
        actor, body = caller(request), read_body(s.AnnouncementWriteSerializer, request)
        if body["organisation"] is not None:
            body["organisation"] = Organisation.objects.get_visible(actor, body["organisation"], field="organisation")
        made = actions.publish_announcement(actor=actor, now=timezone.now(), **body)
        return Response(self.get_serializer(made).data, status=status.HTTP_201_CREATED)


class AnnouncementView(VisibleMixin, generics.RetrieveAPIView[Announcement]):
    """One announcement."""

    queryset = Announcement.objects.select_related("organisation", "published_by")
    serializer_class = s.AnnouncementSerializer

    @extend_schema(responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """Deletes it: pages show it no more. Platform administrators only."""
        require_administrator(request, self)
        actions.delete_announcement(self.get_object(), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class DismissalView(VisibleMixin, generics.GenericAPIView[Announcement]):
    queryset = Announcement.objects.all()
    serializer_class = s.AnnouncementSerializer
    required_scope = "read"  # it concerns what the caller reads, and no other person

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, **_: Any) -> Response:
        """Puts it away for the caller, on every device; 409 for one that is shown until it ends."""
        actions.dismiss_announcement(self.get_object(), user=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class CurrentAnnouncementsView(APIView):
    @extend_schema(responses=s.CurrentAnnouncementsSerializer)
    def get(self, request: Request) -> Response:
        """What is said to the caller now, and when that changes by itself. The stream reports other changes of it."""
        found = _current(caller(request), now=timezone.now())
        return Response(s.CurrentAnnouncementsSerializer(found, context={"request": request}).data)


def _current(user: User, *, now: datetime) -> dict[str, Any]:
    rows = Announcement.objects.concerning(user).unended(now=now).exclude(dismissals__user=user)
    unended = list(rows.select_related("organisation", "published_by").order_by("-id"))
    shown = [one for one in unended if one.state(now=now) is AnnouncementState.CURRENT]
    shown.sort(key=lambda one: one.severity != Severity.WARNING)
    changes = [at for one in unended for at in (one.begins_at, one.ends_at) if at is not None and at > now]
    return {"announcements": shown, "next_change_at": min(changes, default=None)}
