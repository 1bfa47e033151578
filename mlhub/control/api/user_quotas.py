# SPDX-License-Identifier: Apache-2.0
"""Limits of users as JSON, and their views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.control.api.quota_serializers import BudgetSerializer, BudgetUseSerializer
from mlhub.control.api.serializers import MAX_BYTES, MAX_COUNT
from mlhub.control.quotas.user_limits import limits_in, use_of
from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import AddressedView, read_body, read_query
from mlhub.core.errors import InvalidInputError
from mlhub.tenants.access_control.permissions import role_of
from mlhub.tenants.actions.limits.quotas import Owner
from mlhub.tenants.actions.limits.user_quotas import limit_user, remove_user_quota
from mlhub.tenants.api.serializers import UserBriefSerializer
from mlhub.tenants.models import Organisation, Project, Team, User, UserQuota
from mlhub.tenants.quota_terms.budgets import MOST_BUDGETS
from mlhub.tenants.roles import Role
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from rest_framework.request import Request

BY_TYPE = "The most GPUs of a type that the user's jobs may hold at a time, by type; a type without a number: no limit."
MAX_GPUS = "The most GPUs that the user's jobs may hold at a time; null: no limit."
MAX_CPUS = "The most CPUs that pods of the user's jobs may request at a time; null: no limit."
MAX_MEMORY = "The most bytes of memory that pods of the user's jobs may request at a time; null: no limit."
MAX_RUNNING = "The most jobs that the user may run at a time; null: no limit."
MAX_WAITING = "The most jobs that the user may have waiting; null: no limit but the installation's."
MAX_STORAGE = "The most bytes that the user may store, of an organisation only; null: no limit."


class UserUseSerializer(serializers.Serializer[Any]):
    gpus = serializers.IntegerField(help_text="GPUs that the user's jobs hold now.")
    gpus_by_type = serializers.DictField(child=serializers.IntegerField(), help_text="The same by GPU type.")
    cpus = serializers.FloatField(help_text="CPUs that pods of the user's jobs request now.")
    memory_bytes = serializers.IntegerField(help_text="Bytes of memory that pods of the user's jobs request now.")
    running_jobs = serializers.IntegerField(help_text="Jobs of the user that hold GPUs now.")
    waiting_jobs = serializers.IntegerField(help_text="Jobs of the user that wait now.")
    storage_bytes = serializers.IntegerField(
        allow_null=True, help_text="Bytes that the user stores; null where they are not counted: in teams and projects."
    )
    budgets = BudgetUseSerializer(many=True, help_text="The user's budgets of GPU-hours, and what of them is used.")


class UserQuotaSerializer(serializers.Serializer[Any]):
    """What one user may have of an organisation, a team or a project, with all below it."""

    id = serializers.UUIDField(help_text="The id of these limits.")
    kind = serializers.ChoiceField(choices=["organisation", "team", "project"], help_text="Of what it limits the user.")
    owner = serializers.UUIDField(help_text="The id of that organisation, team or project.")
    owner_name = serializers.CharField(help_text="Its name.")
    organisation = serializers.UUIDField(help_text="The id of the organisation.")
    user = UserBriefSerializer(
        allow_null=True, help_text="The user with limits of their own; null: every user who has none of their own."
    )
    max_gpus = serializers.IntegerField(allow_null=True, help_text=MAX_GPUS)
    gpus_by_type = serializers.DictField(child=serializers.IntegerField(), help_text=BY_TYPE)
    max_cpus = serializers.IntegerField(allow_null=True, help_text=MAX_CPUS)
    max_memory_bytes = serializers.IntegerField(allow_null=True, help_text=MAX_MEMORY)
    max_running_jobs = serializers.IntegerField(allow_null=True, help_text=MAX_RUNNING)
    max_waiting_jobs = serializers.IntegerField(allow_null=True, help_text=MAX_WAITING)
    max_storage_bytes = serializers.IntegerField(allow_null=True, help_text=MAX_STORAGE)
    budgets = BudgetSerializer(many=True, help_text="Budgets of GPU-hours; each user has an own one.")
    version = serializers.IntegerField(help_text="The version of these limits, which rises with every change.")
    used = UserUseSerializer(allow_null=True, help_text="What the user has of it now; null: limits of every user.")


class UserQuotasSerializer(serializers.Serializer[Any]):
    may_edit = serializers.BooleanField(help_text="Whether the caller may change limits of users.")
    limits = UserQuotaSerializer(many=True, help_text="Those of every user first, then exceptions by name.")


class UserQuotaChangeSerializer(StrictSerializer):
    """The limits to change; what is left out stays as it is."""

    username = serializers.CharField(
        max_length=150,
        allow_null=True,
        default=None,
        help_text="Whose limits; null: those of every user who has none of their own.",
    )
    max_gpus = serializers.IntegerField(
        min_value=0, max_value=MAX_COUNT, allow_null=True, required=False, help_text=MAX_GPUS
    )
    gpus_by_type = serializers.DictField(
        child=serializers.IntegerField(min_value=0, max_value=MAX_COUNT), required=False, help_text=BY_TYPE
    )
    max_cpus = serializers.IntegerField(
        min_value=0, max_value=MAX_COUNT, allow_null=True, required=False, help_text=MAX_CPUS
    )
    max_memory_bytes = serializers.IntegerField(
        min_value=0, max_value=MAX_BYTES, allow_null=True, required=False, help_text=MAX_MEMORY
    )
    max_running_jobs = serializers.IntegerField(
        min_value=0, max_value=MAX_COUNT, allow_null=True, required=False, help_text=MAX_RUNNING
    )
    max_waiting_jobs = serializers.IntegerField(
        min_value=0, max_value=MAX_COUNT, allow_null=True, required=False, help_text=MAX_WAITING
    )
    max_storage_bytes = serializers.IntegerField(
        min_value=0, max_value=MAX_BYTES, allow_null=True, required=False, help_text=MAX_STORAGE
    )
    budgets = serializers.ListField(
        child=BudgetSerializer(),
        required=False,
        max_length=MOST_BUDGETS,
        help_text="Budgets of GPU-hours, all of them: those that are not named end. One for each period and GPU type.",
    )
    version = serializers.IntegerField(
        min_value=0,
        max_value=MAX_COUNT,
        required=False,
        help_text="The version that the caller saw, 0: there were none; 409 when it is stale.",
    )


class UserQuotaRemovalSerializer(StrictSerializer):
    version = serializers.IntegerField(
        min_value=0, max_value=MAX_COUNT, required=False, help_text="The version that the caller saw; 409 when stale."
    )


class UserQuotasView(AddressedView):
    """Limits of users within an organisation, a team or a project."""

    model: type[Organisation] | type[Team] | type[Project] = Organisation

    @extend_schema(responses=UserQuotasSerializer)
    def get(self, request: Request, id: str) -> Response:
        """What each user may have here, and has now: the limits of every user, and exceptions."""
        owner: Owner = self.model._default_manager.get_visible(request.user, id)
        role = role_of(caller(request), owner)
        rows = UserQuota.objects.of(owner).select_related("user", "organisation", "team", "project")
        ordered = sorted(rows, key=lambda row: "" if row.user is None else row.user.username)
        found = {
            "may_edit": role is not None and role.covers(Role.ADMIN),
            "limits": [_shown(owner, row, user=row.user) for row in ordered],
        }
        return Response(UserQuotasSerializer(found).data)

    @extend_schema(request=UserQuotaChangeSerializer, responses=UserQuotaSerializer)
    def patch(self, request: Request, id: str) -> Response:
        """Changes what a user may have here, by its admins; counts from the next round on.

        A person's first own limits begin as those of every user. No job is ended: jobs above a limit save a checkpoint
        and wait.
        """
        owner: Owner = self.model._default_manager.get_visible(request.user, id)
        body: dict[str, Any] = read_body(UserQuotaChangeSerializer, request)
        user = member_of(owner, body.pop("username"))
        row = limit_user(owner, user, actor=caller(request), **body)
        return Response(UserQuotaSerializer(_shown(owner, row, user=user)).data)


class UserQuotaView(APIView):
    @extend_schema(parameters=[UserQuotaRemovalSerializer], responses={204: None})
    def delete(self, request: Request, id: str) -> Response:
        """Removes limits: a person's own, after which those of every user hold; or those of every user."""
        row: UserQuota = UserQuota.objects.get_visible(request.user, id)
        query = read_query(UserQuotaRemovalSerializer, request)
        remove_user_quota(row, version=query.get("version"), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class MyLimitsView(APIView):
    @extend_schema(responses=UserQuotaSerializer(many=True))
    def get(self, request: Request) -> Response:
        """What the caller may have of each organisation, team and project that limits users, and has now."""
        user = caller(request)
        organisations = Organisation.objects.visible_to(user).filter(memberships__user=user).order_by("name")
        found = [_shown(owner, row, user=user) for owner, row in limits_in(organisations, user)]
        return Response(UserQuotaSerializer(found, many=True).data)


def member_of(owner: Owner, username: str | None) -> User | None:
    """The member of that name; None for every user. Raises InvalidInputError alike for strangers and for no one."""
    if username is None:
        return None
    organisation = owner if isinstance(owner, Organisation) else owner.organisation
    found: User | None = User.objects.filter(username=username, memberships__organisation=organisation).first()
    if found is None:
        raise InvalidInputError(
            f"{organisation.name} has no member called {username}.",
            field="username",
            remedy="Name a member; the page Members lists them.",
        )
    return found


def _shown(owner: Owner, row: UserQuota, *, user: User | None) -> dict[str, Any]:
    """user: for whom it holds; None: limits of every user, of which no use is shown."""
    limits = (
        "id", "max_gpus", "gpus_by_type", "max_cpus", "max_memory_bytes", "max_running_jobs", "max_waiting_jobs",
        "max_storage_bytes", "budgets", "version", "user",
    )  # fmt: skip
    return {
        **{name: getattr(row, name) for name in limits},
        "kind": type(owner).__name__.lower(),
        "owner": owner.pk,
        "owner_name": owner.name,
        "organisation": row.organisation_id,
        "used": None if user is None else use_of(owner, user, row, now=timezone.now()),
    }
