# SPDX-License-Identifier: Apache-2.0
"""Addresses below /api/v1. An organisation's quota with its use is control's, which knows jobs and storage."""

from django.urls import path

from mlhub.tenants.api import account, invitation_links, invitations, projects, sessions, setup, users, views

urlpatterns = [
    path("auth/csrf", sessions.CsrfView.as_view()),
    path("auth/login", sessions.LoginView.as_view()),
    path("auth/logout", sessions.LogoutView.as_view()),
    path("auth/me", sessions.MeView.as_view()),
    path("auth/setup", setup.SetupView.as_view()),
    path("auth/invitation", invitation_links.LinkOfferView.as_view()),
    path("auth/invitation/accept", invitation_links.AcceptLinkView.as_view()),
    path("auth/password", account.PasswordView.as_view()),
    path("auth/password-link", account.PasswordByLinkView.as_view()),
    path("auth/sessions", account.SessionsView.as_view()),
    path("auth/sessions/<uuid:id>", account.SessionView.as_view()),
    path("users", users.UsersView.as_view()),
    path("users/<uuid:id>", users.UserView.as_view()),
    path("users/<uuid:id>/deletion", users.UserDeletionView.as_view()),
    path("users/<uuid:id>/password-link", users.UserPasswordLinkView.as_view()),
    path("users/<uuid:id>/sessions", users.UserSessionsView.as_view()),
    path("organisations", views.OrganisationsView.as_view()),
    path("organisations/<uuid:id>", views.OrganisationView.as_view()),
    path("organisations/<uuid:id>/members", views.MembersView.as_view()),
    path("organisations/<uuid:id>/invitations", invitations.InvitationsView.as_view()),
    path("invitations", invitations.MyInvitationsView.as_view()),
    path("invitations/<uuid:id>", invitations.InvitationView.as_view()),
    path("invitations/<uuid:id>/accept", invitations.AcceptInvitationView.as_view()),
    path("invitations/<uuid:id>/decline", invitations.DeclineInvitationView.as_view()),
    path("memberships/<uuid:id>", views.MembershipView.as_view()),
    path("teams", views.TeamsView.as_view()),
    path("teams/<uuid:id>", projects.TeamView.as_view()),
    path("projects", views.ProjectsView.as_view()),
    path("projects/<uuid:id>", projects.ProjectView.as_view()),
    path("tokens", views.TokensView.as_view()),
    path("tokens/<uuid:id>", views.TokenView.as_view()),
]
