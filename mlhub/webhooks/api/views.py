# SPDX-License-Identifier: Apache-2.0
"""Webhooks of an organisation, and the log of their deliveries, for its admins; what one is notified of by e-mail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.views import AddressedView, VisibleMixin, read_body
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.models import Organisation, User
from mlhub.tenants.roles import Role
from mlhub.tenants.sign_in.authentication import caller
from mlhub.webhooks import actions, mail
from mlhub.webhooks.api import serializers as s
from mlhub.webhooks.models import Delivery, Webhook

if TYPE_CHECKING:
    from rest_framework.request import Request


class WebhooksView(AddressedView, generics.ListAPIView[Webhook]):
    """The organisation's webhooks."""

    queryset = Webhook.objects.order_by("created_at")
    serializer_class = s.WebhookSerializer

    @property
    def organisation(self) -> Organisation:
        found: Organisation = Organisation.objects.get_visible(self.request.user, self.kwargs["id"])
        return found

    def get_queryset(self) -> QuerySet[Webhook]:
        if getattr(self, "swagger_fake_view", False):
            return super().get_queryset()
        require_role(caller(self.request), self.organisation, Role.ADMIN)
        return super().get_queryset().filter(organisation=self.organisation)

    @extend_schema(request=s.WebhookWriteSerializer, responses={201: s.WebhookCreatedSerializer})
    def post(self, request: Request, **_: Any) -> Response:
        """Makes one; its secret is shown this once. It is notified of what happens from now on."""
        body = read_body(s.WebhookWriteSerializer, request)
        made, secret = actions.create_webhook(
            self.organisation, url=body["url"], chosen=body["topics"], actor=caller(request)
        )
        shown = {**s.WebhookSerializer(made).data, "secret": secret}
        return Response(shown, status=status.HTTP_201_CREATED)


class AdminsWebhook(VisibleMixin, generics.GenericAPIView[Webhook]):
    """One webhook, of an organisation of which the caller is an admin."""

    queryset = Webhook.objects.select_related("organisation")
    serializer_class = s.WebhookSerializer

    def get_object(self) -> Webhook:
        found: Webhook = super().get_object()
        require_role(caller(self.request), found.organisation, Role.ADMIN)
        return found


class WebhookView(AdminsWebhook):
    """One webhook, without its secret; for admins of its organisation."""

    def get(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        return Response(s.WebhookSerializer(self.get_object()).data)

    @extend_schema(request=s.WebhookChangeSerializer, responses=s.WebhookSerializer)
    def patch(self, request: Request, **_: Any) -> Response:
        """Changes what is given."""
        body = read_body(s.WebhookChangeSerializer, request)
        changed = actions.change_webhook(
            self.get_object(),
            url=body.get("url"),
            chosen=body.get("topics"),
            is_active=body.get("is_active"),
            seen=body.get("seen"),
            actor=caller(request),
        )
        return Response(s.WebhookSerializer(changed).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """Deletes it, and what it was not yet notified of."""
        actions.delete_webhook(self.get_object(), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class TestDeliveryView(AdminsWebhook):
    @extend_schema(request=None, responses={202: s.DeliverySerializer})
    def post(self, request: Request, **_: Any) -> Response:
        """Sends a test, within seconds; what came of it is among the deliveries."""
        made = actions.send_test(self.get_object(), actor=caller(request))
        return Response(s.DeliverySerializer(made).data, status=status.HTTP_202_ACCEPTED)


class DeliveriesView(generics.ListAPIView[Delivery]):
    """The webhook's deliveries, newest first. Those that ended are kept for MLHUB_KEEP_DELIVERIES_DAYS."""

    queryset = Delivery.objects.order_by("-created_at")
    serializer_class = s.DeliverySerializer

    def get_queryset(self) -> QuerySet[Delivery]:
        rows = super().get_queryset()
        if getattr(self, "swagger_fake_view", False):
            return rows
        webhook = Webhook.objects.select_related("organisation").get_visible(self.request.user, self.kwargs["id"])
        require_role(caller(self.request), webhook.organisation, Role.ADMIN)
        return rows.filter(webhook=webhook)


class SendAgainView(VisibleMixin, generics.GenericAPIView[Delivery]):
    queryset = Delivery.objects.select_related("webhook__organisation")
    serializer_class = s.DeliverySerializer

    @extend_schema(request=None, responses={202: s.DeliverySerializer})
    def post(self, request: Request, **_: Any) -> Response:
        """Sends a delivery that ended once more, or one that waits for its next attempt now, under the same id."""
        sent = actions.send_again(self.get_object(), actor=caller(request))
        return Response(s.DeliverySerializer(sent).data, status=status.HTTP_202_ACCEPTED)


class MailNoticesView(APIView):
    """What one is notified of by e-mail."""

    @extend_schema(responses=s.MailNoticesSerializer)
    def get(self, request: Request) -> Response:
        """What one is notified of, of the jobs that one submitted."""
        return Response(_shown(caller(request)))

    @extend_schema(request=s.MailNoticesWriteSerializer, responses=s.MailNoticesSerializer)
    def put(self, request: Request) -> Response:
        """Chooses what to be notified of, all of it; from now on."""
        mail.choose(caller(request), read_body(s.MailNoticesWriteSerializer, request)["topics"])
        return Response(_shown(caller(request)))


def _shown(user: User) -> dict[str, Any]:
    shown = {"topics": mail.chosen_by(user), "email": user.email, "has_mail_server": settings.HAS_MAIL_SERVER}
    return dict(s.MailNoticesSerializer(shown).data)
