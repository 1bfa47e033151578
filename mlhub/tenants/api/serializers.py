"""The JSON of people, organisations, teams, projects and tokens. Write serializers carry the fields that are given."""

from __future__ import annotations

from rest_framework import serializers

from mlhub.core.api.strict import StrictSerializer
from mlhub.tenants.actions.credentials import SCOPES
from mlhub.tenants.models import ApiToken, Membership, Organisation, Project, Quota, Team, User
from mlhub.tenants.roles import Role

ROLES = [(role.value, role.value) for role in Role]


class UserBriefSerializer(serializers.ModelSerializer[User]):
    class Meta:
        model = User
        fields = ["id", "username"]


class OrganisationBriefSerializer(serializers.ModelSerializer[Organisation]):
    class Meta:
        model = Organisation
        fields = ["id", "name"]


class ProjectBriefSerializer(serializers.ModelSerializer[Project]):
    """A project as datasets, models and jobs show where they live."""

    organisation = OrganisationBriefSerializer(read_only=True)

    class Meta:
        model = Project
        fields = ["id", "name", "organisation"]


class MyMembershipSerializer(serializers.ModelSerializer[Membership]):
    organisation = OrganisationBriefSerializer(read_only=True)
    role = serializers.ChoiceField(choices=ROLES, read_only=True)

    class Meta:
        model = Membership
        fields = ["organisation", "role"]


class MeSerializer(serializers.ModelSerializer[User]):
    memberships = MyMembershipSerializer(many=True, read_only=True)

    class Meta:
        model = User
        fields = ["id", "username", "is_staff", "memberships"]
        read_only_fields = fields


class LoginSerializer(StrictSerializer):
    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=1024, trim_whitespace=False)


class QuotaLimitsSerializer(serializers.ModelSerializer[Quota]):
    """The limits alone; with what is used: GET /organisations/{id}/quota."""

    class Meta:
        model = Quota
        fields = ["max_gpus", "max_running_jobs", "max_storage_bytes", "version"]
        read_only_fields = fields


class OrganisationSerializer(serializers.ModelSerializer[Organisation]):
    role = serializers.ChoiceField(choices=ROLES, read_only=True, help_text="The caller's role in it.")

    class Meta:
        model = Organisation
        fields = ["id", "name", "created_at", "role"]


class OrganisationDetailSerializer(OrganisationSerializer):
    quota = QuotaLimitsSerializer(read_only=True)

    class Meta(OrganisationSerializer.Meta):
        fields = [*OrganisationSerializer.Meta.fields, "quota"]


class NameSerializer(StrictSerializer):
    name = serializers.CharField(max_length=100)


class MembershipSerializer(serializers.ModelSerializer[Membership]):
    user = UserBriefSerializer(read_only=True)
    role = serializers.ChoiceField(choices=ROLES, read_only=True)

    class Meta:
        model = Membership
        fields = ["id", "user", "role"]


class MembershipWriteSerializer(StrictSerializer):
    username = serializers.CharField(max_length=150)
    role = serializers.ChoiceField(choices=ROLES)


class RoleSerializer(StrictSerializer):
    role = serializers.ChoiceField(choices=ROLES)


class TeamSerializer(serializers.ModelSerializer[Team]):
    organisation = OrganisationBriefSerializer(read_only=True)

    class Meta:
        model = Team
        fields = ["id", "name", "organisation"]


class TeamWriteSerializer(NameSerializer):
    organisation = serializers.UUIDField()


class TeamBriefSerializer(serializers.ModelSerializer[Team]):
    class Meta:
        model = Team
        fields = ["id", "name"]


class ProjectSerializer(serializers.ModelSerializer[Project]):
    organisation = OrganisationBriefSerializer(read_only=True)
    team = TeamBriefSerializer(read_only=True, allow_null=True)

    class Meta:
        model = Project
        fields = ["id", "name", "organisation", "team", "created_at"]


class ProjectWriteSerializer(NameSerializer):
    organisation = serializers.UUIDField()
    team = serializers.UUIDField(required=False, allow_null=True, default=None)


class TokenSerializer(serializers.ModelSerializer[ApiToken]):
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=SCOPES), read_only=True)

    class Meta:
        model = ApiToken
        fields = ["id", "name", "prefix", "scopes", "created_at", "expires_at", "last_used_at"]


class TokenCreatedSerializer(TokenSerializer):
    token = serializers.CharField(read_only=True, help_text="The secret; shown this once.")

    class Meta(TokenSerializer.Meta):
        fields = [*TokenSerializer.Meta.fields, "token"]


class TokenWriteSerializer(NameSerializer):
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=SCOPES), allow_empty=False)
    expires_in_days = serializers.IntegerField(
        min_value=1, max_value=3650, required=False, allow_null=True, default=90, help_text="null: until revoked."
    )
