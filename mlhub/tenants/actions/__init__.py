# SPDX-License-Identifier: Apache-2.0
"""Writes: one verb a function, one transaction, one audit event. What other apps and the API call is named here."""

from mlhub.tenants.actions.hierarchy.organisations import create_organisation, create_project, create_team
from mlhub.tenants.actions.hierarchy.projects import delete, move, move_team, rename, require_open, set_archived
from mlhub.tenants.actions.limits.boosts import (
    boost_quota,
    end_boost,
    gpu_limit_of,
    gpu_limits_above,
    record_begun_boosts,
    record_ended_boosts,
    type_limits_above,
)
from mlhub.tenants.actions.limits.quota_requests import approve_request, refuse_request, request_quota, withdraw_request
from mlhub.tenants.actions.limits.quotas import quota_of, set_quota
from mlhub.tenants.actions.membership.invitations import answer_invitation, invite, withdraw_invitation
from mlhub.tenants.actions.membership.members import add_member, change_role, remove_member
from mlhub.tenants.actions.membership.role_bindings import bind_role, change_binding, withdraw_binding
from mlhub.tenants.actions.sign_in.credentials import create_token, revoke_token, sign_in, sign_out

__all__ = [
    "add_member",
    "answer_invitation",
    "approve_request",
    "bind_role",
    "boost_quota",
    "change_binding",
    "change_role",
    "create_organisation",
    "create_project",
    "create_team",
    "create_token",
    "delete",
    "end_boost",
    "gpu_limit_of",
    "gpu_limits_above",
    "invite",
    "move",
    "move_team",
    "quota_of",
    "record_begun_boosts",
    "record_ended_boosts",
    "refuse_request",
    "remove_member",
    "rename",
    "request_quota",
    "require_open",
    "revoke_token",
    "set_archived",
    "set_quota",
    "sign_in",
    "sign_out",
    "type_limits_above",
    "withdraw_binding",
    "withdraw_invitation",
    "withdraw_request",
]
