# SPDX-License-Identifier: Apache-2.0
"""The JSON of people, organisations, teams, projects and tokens. Write serializers carry the fields that are given."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from mlhub.core.api.described import described
from mlhub.core.api.strict import StrictSerializer
from mlhub.core.as_seen import SEEN
from mlhub.tenants.access_control.assignments import made_by, project_roles
from mlhub.tenants.actions.sign_in.credentials import SCOPES
from mlhub.tenants.api.impersonation_serializers import ImpersonationSerializer
from mlhub.tenants.audit import stream_cursor
from mlhub.tenants.models import ApiToken, Invitation, Membership, Organisation, Project, Quota, Team, User
from mlhub.tenants.roles import Role

ROLES = [(role.value, role.value) for role in Role]


class UserBriefSerializer(serializers.ModelSerializer[User]):
    class Meta:
        model = User
        fields = ["id", "username"]
        extra_kwargs = described(
            id="The user's id.",
        )


class OrganisationBriefSerializer(serializers.ModelSerializer[Organisation]):
    class Meta:
        model = Organisation
        fields = ["id", "name"]
        extra_kwargs = described(
            id="The organisation's id.",
            name="The organisation's name.",
        )


class ProjectBriefSerializer(serializers.ModelSerializer[Project]):
    """A project as datasets, models and jobs show where they live."""

    organisation = OrganisationBriefSerializer(read_only=True, help_text="The organisation that it belongs to.")

    class Meta:
        model = Project
        fields = ["id", "name", "organisation"]
        extra_kwargs = described(
            id="The project's id.",
            name="The project's name.",
        )


class MyMembershipSerializer(serializers.ModelSerializer[Membership]):
    organisation = OrganisationBriefSerializer(read_only=True, help_text="The organisation.")
    role = serializers.ChoiceField(choices=ROLES, read_only=True, help_text="The user's role in it.")

    class Meta:
        model = Membership
        fields = ["id", "organisation", "role"]
        extra_kwargs = described(
            id="The membership's id.",
        )


class ProjectRoleSerializer(serializers.Serializer[Any]):
    """A role of the user in a project, besides that in its organisation."""

    project = serializers.UUIDField(help_text="The project's id.")
    role = serializers.ChoiceField(choices=ROLES, help_text="The greatest role given in it or in its team.")


class MeSerializer(serializers.ModelSerializer[User]):
    needs_second_factor = serializers.BooleanField(
        read_only=True, help_text="Whether the user's rights as an administrator wait for a second factor."
    )
    impersonation = ImpersonationSerializer(
        allow_null=True, read_only=True, help_text="An administrator who sees MLHub as this user; null: it is the user."
    )
    memberships = MyMembershipSerializer(
        many=True, read_only=True, help_text="The organisations that the user is a member of."
    )
    project_roles = serializers.SerializerMethodField(help_text="Roles in projects, besides those in organisations.")
    stream_cursor = serializers.SerializerMethodField(help_text="Where GET /stream continues after this answer.")

    def get_stream_cursor(self, _: User) -> str:
        return stream_cursor()

    @extend_schema_field(ProjectRoleSerializer(many=True))
    def get_project_roles(self, user: User) -> list[dict[str, Any]]:
        return [{"project": str(project), "role": role} for project, role in sorted(project_roles(user).items())]

    class Meta:
        model = User
        fields = [
            "id", "username", "is_staff", "needs_second_factor", "impersonation", "memberships", "project_roles",
            "stream_cursor",
        ]  # fmt: skip
        read_only_fields = fields
        extra_kwargs = described(
            id="The user's id.",
        )

    def to_representation(self, instance: User) -> dict[str, Any]:
        """With a token that is limited, no other organisation of the user."""
        found: dict[str, Any] = super().to_representation(instance)
        if (token := instance.acting_token) is not None:
            within = str(token.organisation_id)
            found["memberships"] = [m for m in found["memberships"] if m["organisation"]["id"] == within]
        return found


class QuotaLimitsSerializer(serializers.ModelSerializer[Quota]):
    """The limits alone; with what is used: GET /organisations/{id}/quota."""

    class Meta:
        model = Quota
        fields = ["max_gpus", "max_running_jobs", "max_storage_bytes", "version"]
        read_only_fields = fields
        extra_kwargs = described(
            max_gpus="The most GPUs that may be in use at a time; null: no limit.",
            max_running_jobs="The most jobs that may run at a time; null: no limit.",
            max_storage_bytes="The most bytes that may be stored; null: no limit.",
            version="The version of these settings, which rises with every change.",
        )


class OrganisationSerializer(serializers.ModelSerializer[Organisation]):
    role = serializers.ChoiceField(choices=ROLES, read_only=True, help_text="The caller's role in it.")

    class Meta:
        model = Organisation
        fields = ["id", "name", "created_at", "archived_at", "role"]
        extra_kwargs = described(
            id="The organisation's id.",
            name="The organisation's name.",
            created_at="When it was created.",
            archived_at="Since when it takes no projects, uploads and jobs; null: it is open.",
        )


class OrganisationDetailSerializer(OrganisationSerializer):
    quota = QuotaLimitsSerializer(read_only=True, help_text="Its limits.")

    class Meta(OrganisationSerializer.Meta):
        fields = [*OrganisationSerializer.Meta.fields, "quota"]


class NameSerializer(StrictSerializer):
    name = serializers.CharField(max_length=100, help_text="The name; at most 100 characters.")


class MembershipSerializer(serializers.ModelSerializer[Membership]):
    user = UserBriefSerializer(read_only=True, help_text="The member.")
    role = serializers.ChoiceField(choices=ROLES, read_only=True, help_text="The member's role in the organisation.")

    class Meta:
        model = Membership
        fields = ["id", "user", "role", "from_groups"]
        extra_kwargs = described(
            id="The membership's id.",
            from_groups="Whether it follows from the member's groups at the provider of single sign-on.",
        )


class MembershipWriteSerializer(StrictSerializer):
    username = serializers.CharField(max_length=150, help_text="The user name of the new member.")
    role = serializers.ChoiceField(choices=ROLES, help_text="The new member's role.")


class InvitationSerializer(serializers.ModelSerializer[Invitation]):
    role = serializers.ChoiceField(choices=ROLES, read_only=True, help_text="The role that is offered.")
    invited_by = UserBriefSerializer(read_only=True, allow_null=True, help_text="Who sent it; null: deleted since.")

    class Meta:
        model = Invitation
        fields = ["id", "username", "email", "role", "invited_by", "created_at", "expires_at"]
        extra_kwargs = described(
            id="The invitation's id.",
            username="The user name of the invited, who may have no account yet; empty: invited by a link.",
            email="Where the link was sent to; empty: it was not sent.",
            created_at="When it was sent.",
            expires_at="Until when it can be accepted.",
        )


class InvitationCreatedSerializer(InvitationSerializer):
    link = serializers.CharField(
        read_only=True, allow_null=True, help_text="The link, which works once and is shown this once; null: none."
    )
    is_mailed = serializers.BooleanField(
        read_only=True,
        allow_null=True,
        help_text="Whether the mail server took the link for the address; false: hand it over; null: no address.",
    )

    class Meta(InvitationSerializer.Meta):
        fields = [*InvitationSerializer.Meta.fields, "link", "is_mailed"]


class MyInvitationSerializer(InvitationSerializer):
    organisation = OrganisationBriefSerializer(read_only=True, help_text="Where the caller is invited to.")

    class Meta(InvitationSerializer.Meta):
        fields = ["id", "organisation", "role", "invited_by", "created_at", "expires_at"]


class InvitationWriteSerializer(StrictSerializer):
    username = serializers.CharField(
        max_length=150,
        required=False,
        allow_blank=True,
        default="",
        help_text="The user name to invite, which need not exist; left out: a link is made.",
    )
    email = serializers.EmailField(
        max_length=254,
        required=False,
        allow_blank=True,
        default="",
        help_text="Where the link is sent to, if a mail server is configured.",
    )
    role = serializers.ChoiceField(choices=ROLES, help_text="The role that is offered.")


class RoleSerializer(StrictSerializer):
    role = serializers.ChoiceField(choices=ROLES, help_text="The member's new role.")


class TeamBriefSerializer(serializers.ModelSerializer[Team]):
    class Meta:
        model = Team
        fields = ["id", "name"]
        extra_kwargs = described(
            id="The team's id.",
            name="The team's name.",
        )


class TeamSerializer(serializers.ModelSerializer[Team]):
    organisation = OrganisationBriefSerializer(read_only=True, help_text="The organisation that it belongs to.")
    parent = TeamBriefSerializer(
        read_only=True,
        allow_null=True,
        help_text="The team that it is a part of; null: directly below the organisation.",
    )

    class Meta:
        model = Team
        fields = ["id", "name", "organisation", "parent"]
        extra_kwargs = described(
            id="The team's id.",
            name="The team's name.",
        )


class TeamWriteSerializer(NameSerializer):
    organisation = serializers.UUIDField(help_text="The id of the organisation.")
    parent = serializers.UUIDField(  # type: ignore[assignment]  # rest_framework keeps it elsewhere than its own
        required=False,
        allow_null=True,
        default=None,
        help_text="The id of the team that it is a part of; null: directly below the organisation.",
    )


class TeamSeenSerializer(StrictSerializer):
    """What was seen of a team."""

    name = serializers.CharField(required=False, max_length=100, help_text="The name as it was seen.")
    parent = serializers.UUIDField(  # type: ignore[assignment]  # as above
        required=False, allow_null=True, help_text="The id of the team above; null: none."
    )


class TeamChangeSerializer(StrictSerializer):
    name = serializers.CharField(required=False, max_length=100, help_text="Another name; left out: the same.")
    parent = serializers.UUIDField(  # type: ignore[assignment]  # as above
        required=False,
        allow_null=True,
        help_text="The id of the team to move it below, with all below it; null: directly below the organisation; left "
        "out: where it is.",
    )
    seen = TeamSeenSerializer(required=False, help_text=SEEN)


class ProjectSerializer(serializers.ModelSerializer[Project]):
    organisation = OrganisationBriefSerializer(read_only=True, help_text="The organisation that it belongs to.")
    team = TeamBriefSerializer(read_only=True, allow_null=True, help_text="The team that it belongs to; null: none.")
    is_own = serializers.SerializerMethodField(help_text="Whether the caller made it, and so may rename it.")

    class Meta:
        model = Project
        fields = ["id", "name", "organisation", "team", "is_own", "created_at", "archived_at"]
        extra_kwargs = described(
            id="The project's id.",
            name="The project's name.",
            created_at="When it was created.",
            archived_at="Since when it takes no uploads and no jobs; null: it is open.",
        )

    def get_is_own(self, project: Project) -> bool:
        return made_by(project, self.context["request"].user)


class ProjectSeenSerializer(StrictSerializer):
    """What was seen of a project."""

    name = serializers.CharField(required=False, max_length=100, help_text="The name as it was seen.")
    team = serializers.UUIDField(required=False, allow_null=True, help_text="The id of the team; null: of none.")
    is_archived = serializers.BooleanField(required=False, help_text="Whether it was archived.")


class OrganisationSeenSerializer(StrictSerializer):
    """What was seen of an organisation."""

    name = serializers.CharField(required=False, max_length=100, help_text="The name as it was seen.")
    is_archived = serializers.BooleanField(required=False, help_text="Whether it was archived.")


class ProjectChangeSerializer(StrictSerializer):
    name = serializers.CharField(required=False, max_length=100, help_text="Another name; left out: the same.")
    team = serializers.UUIDField(
        required=False, allow_null=True, help_text="The id of its new team; null: of none; left out: the same."
    )
    is_archived = serializers.BooleanField(
        required=False, help_text="Whether it takes no more uploads and jobs; left out: as it is."
    )
    seen = ProjectSeenSerializer(required=False, help_text=SEEN)


class OrganisationChangeSerializer(StrictSerializer):
    name = serializers.CharField(required=False, max_length=100, help_text="Another name; left out: the same.")
    is_archived = serializers.BooleanField(
        required=False, help_text="Whether it takes no more projects, uploads and jobs; left out: as it is."
    )
    seen = OrganisationSeenSerializer(required=False, help_text=SEEN)


class ProjectWriteSerializer(NameSerializer):
    organisation = serializers.UUIDField(help_text="The id of the organisation.")
    team = serializers.UUIDField(
        required=False, allow_null=True, default=None, help_text="The id of a team of the organisation; null: none."
    )


class TokenSerializer(serializers.ModelSerializer[ApiToken]):
    scopes = serializers.ListField(
        child=serializers.ChoiceField(choices=SCOPES), read_only=True, help_text="What the token may do."
    )
    organisation = OrganisationBriefSerializer(
        read_only=True, allow_null=True, help_text="The only organisation that it reaches; null: all of its user's."
    )
    project = ProjectBriefSerializer(
        read_only=True, allow_null=True, help_text="The only project that it reaches; null: not limited to one."
    )

    class Meta:
        model = ApiToken
        fields = [
            "id", "name", "prefix", "scopes", "organisation", "project", "created_at", "expires_at", "last_used_at",
        ]  # fmt: skip
        extra_kwargs = described(
            id="The token's id.",
            name="What the token is for, in its owner's words.",
            prefix="The first characters of the secret, to recognise it.",
            created_at="When it was created.",
            expires_at="When it expires; null: never.",
            last_used_at="When it was used last, to the minute; null: never.",
        )


class TokenCreatedSerializer(TokenSerializer):
    token = serializers.CharField(read_only=True, help_text="The secret; shown this once.")

    class Meta(TokenSerializer.Meta):
        fields = [*TokenSerializer.Meta.fields, "token"]


class TokenWriteSerializer(NameSerializer):
    scopes = serializers.ListField(
        child=serializers.ChoiceField(choices=SCOPES),
        allow_empty=False,
        help_text="What it may do: read; submit (upload, run jobs); write (also manage projects and people); admin.",
    )
    organisation = serializers.UUIDField(
        required=False, allow_null=True, default=None, help_text="The id of the only organisation to reach; null: all."
    )
    project = serializers.UUIDField(
        required=False, allow_null=True, default=None, help_text="The id of the only project to reach; null: all."
    )
    expires_in_days = serializers.IntegerField(
        min_value=1, max_value=3650, required=False, allow_null=True, default=90, help_text="null: until revoked."
    )
