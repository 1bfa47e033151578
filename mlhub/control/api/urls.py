"""Addresses below /api/v1 that need jobs, cluster and scheduler at once."""

from django.urls import path

from mlhub.control.api import views

urlpatterns = [
    path("cluster", views.ClusterView.as_view()),
    path("organisations/<uuid:id>/quota", views.QuotaView.as_view()),
    path("jobs/<uuid:id>/why", views.WhyView.as_view()),
    path("queue", views.QueueView.as_view()),
    path("rounds", views.RoundsView.as_view()),
    path("rounds/<int:id>", views.RoundView.as_view()),
    path("scheduler/settings", views.SchedulerSettingsView.as_view()),
]
