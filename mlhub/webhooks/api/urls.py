# SPDX-License-Identifier: Apache-2.0
"""Addresses below /api/v1."""

from django.urls import path

from mlhub.webhooks.api import views

urlpatterns = [
    path("auth/notices", views.MailNoticesView.as_view()),
    path("organisations/<named:id>/webhooks", views.WebhooksView.as_view()),
    path("webhooks/<uuid:id>", views.WebhookView.as_view()),
    path("webhooks/<uuid:id>/test", views.TestDeliveryView.as_view()),
    path("webhooks/<uuid:id>/deliveries", views.DeliveriesView.as_view()),
    path("deliveries/<uuid:id>/send", views.SendAgainView.as_view()),
]
