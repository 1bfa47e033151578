# SPDX-License-Identifier: Apache-2.0
"""Deleting an organisation or a project with all its data: a preview, the act itself, and its progress. For an
organisation with a proof of who asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers, status
from rest_framework.response import Response

from mlhub.core.api.described import described
from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import AddressedView, VisibleMixin, read_body
from mlhub.retention.deletion_contents import DeletedContents
from mlhub.retention.models import OrganisationDeletion, ProjectDeletion, TenantDeletion
from mlhub.retention.organisation_deletions import begin_deletion, contents_to_delete
from mlhub.retention.project_caches import machines_left
from mlhub.retention.project_deletions import begin_project_deletion, contents_of_project
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.actions.sign_in.owner_checks import require_owner
from mlhub.tenants.api.account import require_session
from mlhub.tenants.api.proofs import OwnerProofSerializer
from mlhub.tenants.models import Organisation, Project
from mlhub.tenants.roles import Role
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from uuid import UUID

    from rest_framework.request import Request


class DeletionRefusalSerializer(serializers.Serializer[Any]):
    code = serializers.CharField(help_text="A stable word for the reason.")
    message = serializers.CharField(help_text="Why it may not be deleted now.")
    remedy = serializers.CharField(help_text="What to do about it.")


FIELDS = [
    "id", "organisation_id", "name", "requested_at", "counts", "n_total", "n_removed", "step", "problem",
    "bytes_removed", "shared_blobs", "later_blobs", "ended_at", "n_machines_left", "machines_left",
]  # fmt: skip
DESCRIBED = {
    "id": "The deletion's id.",
    "organisation_id": "The organisation's id.",
    "requested_at": "When it began.",
    "n_total": "How many things there were at the beginning, blobs among them.",
    "n_removed": "How many of them are gone.",
    "step": "What is being removed; empty: nothing yet, or it has ended.",
    "problem": "Why it does not go on, in words; empty: it does. It is tried again every 30 seconds.",
    "bytes_removed": "Bytes that are gone from the store.",
    "shared_blobs": "Blobs that others hold, too, which stay.",
    "later_blobs": "Blobs that the next collections remove: somebody stored the same bytes within an hour.",
    "ended_at": "When the platform held nothing of it any more; null: it goes on.",
}
MOST_MACHINES = 20  # that are named


class MachinesLeftMixin(serializers.Serializer[Any]):
    """What is true of machines with agents, whose caches the platform cannot look into."""

    n_machines_left = serializers.SerializerMethodField(
        help_text="Machines with agents that have not said since its end that their caches hold nothing of it. Each is "
        "asked every 15 minutes while its agent is connected; one that is away may still hold some."
    )
    machines_left = serializers.SerializerMethodField(help_text=f"The first {MOST_MACHINES} of them, by name.")

    def get_n_machines_left(self, deletion: TenantDeletion) -> int:
        return len(machines_left(deletion.ended_at))

    def get_machines_left(self, deletion: TenantDeletion) -> list[str]:
        return machines_left(deletion.ended_at)[:MOST_MACHINES]


class OrganisationDeletionSerializer(MachinesLeftMixin, serializers.ModelSerializer[OrganisationDeletion]):
    counts = serializers.DictField(
        child=serializers.IntegerField(), read_only=True, help_text="What there was at the beginning, by kind."
    )

    class Meta:
        model = OrganisationDeletion
        fields = FIELDS
        read_only_fields = fields
        extra_kwargs = described(**DESCRIBED, name="The organisation's name.")


class ProjectDeletionSerializer(MachinesLeftMixin, serializers.ModelSerializer[ProjectDeletion]):
    counts = serializers.DictField(
        child=serializers.IntegerField(), read_only=True, help_text="What there was at the beginning, by kind."
    )

    class Meta:
        model = ProjectDeletion
        fields = [*FIELDS, "project_id"]
        read_only_fields = fields
        extra_kwargs = described(**DESCRIBED, name="The project's name.", project_id="The project's id.")


class DeletedContentsSerializer(serializers.Serializer[Any]):
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="What would be deleted, by kind.")
    n_bytes = serializers.IntegerField(help_text="Bytes that it stores, without checkpoints.")
    shared_bytes = serializers.IntegerField(help_text="Those of them that others store, too, which stay.")
    refusals = DeletionRefusalSerializer(many=True, help_text="Why it may not be deleted now; empty: it may.")


class OrganisationContentsSerializer(DeletedContentsSerializer):
    deletion = OrganisationDeletionSerializer(allow_null=True, help_text="The deletion under way; null: there is none.")


class ProjectContentsSerializer(DeletedContentsSerializer):
    checkpoint_bytes = serializers.IntegerField(help_text="Bytes of its jobs' checkpoints, which go, too.")
    deletion = ProjectDeletionSerializer(allow_null=True, help_text="The deletion under way; null: there is none.")


class DeleteProjectSerializer(StrictSerializer):
    name = serializers.CharField(max_length=100, help_text="The project's name, to confirm.")


class DeleteOrganisationSerializer(OwnerProofSerializer):
    name = serializers.CharField(max_length=100, help_text="The organisation's name, to confirm.")


class OrganisationDataView(AddressedView):
    takes_ids_alone = ("POST",)

    @extend_schema(responses=OrganisationContentsSerializer)
    def get(self, request: Request, id: UUID) -> Response:
        """What deleting the organisation with all its data would remove, and what forbids it; for owners."""
        organisation: Organisation = Organisation.objects.get_visible(request.user, id)
        found = contents_to_delete(organisation, actor=caller(request))
        running = OrganisationDeletion.objects.running().filter(organisation_id=organisation.pk).first()
        shown = {**_shown(found), "deletion": running}
        return Response(OrganisationContentsSerializer(shown).data)

    @extend_schema(request=DeleteOrganisationSerializer, responses={202: OrganisationDeletionSerializer})
    def post(self, request: Request, id: UUID) -> Response:
        """Deletes an archived organisation with all its data, in the background, for good. For owners, with the
        password and the second factor, or a passkey; by session. 409 while jobs or studies have not ended."""
        require_session(request)
        user, body = caller(request), read_body(DeleteOrganisationSerializer, request)
        organisation: Organisation = Organisation.objects.get_visible(request.user, id)
        require_role(user, organisation, Role.OWNER)
        name = body.pop("name")
        require_owner(request._request, user, **body)
        begun = begin_deletion(organisation, name=name, actor=user)
        return Response(OrganisationDeletionSerializer(begun).data, status=status.HTTP_202_ACCEPTED)


class OrganisationDeletionsView(VisibleMixin, generics.ListAPIView[OrganisationDeletion]):
    """Deletions of organisations that one has asked for; administrators of the platform see all."""

    queryset = OrganisationDeletion.objects.all()
    serializer_class = OrganisationDeletionSerializer


class OrganisationDeletionView(VisibleMixin, generics.RetrieveAPIView[OrganisationDeletion]):
    """How far a deletion is, also when the organisation is gone."""

    queryset = OrganisationDeletion.objects.all()
    serializer_class = OrganisationDeletionSerializer


class ProjectDataView(AddressedView):
    takes_ids_alone = ("POST",)

    @extend_schema(responses=ProjectContentsSerializer)
    def get(self, request: Request, id: UUID) -> Response:
        """What deleting the project with all its data would remove, and what forbids it; for its admins."""
        project: Project = Project.objects.select_related("organisation").get_visible(request.user, id)
        found = contents_of_project(project, actor=caller(request))
        running = ProjectDeletion.objects.running().filter(project_id=project.pk).first()
        shown = {**_shown(found), "checkpoint_bytes": found.checkpoint_bytes, "deletion": running}
        return Response(ProjectContentsSerializer(shown).data)

    @extend_schema(request=DeleteProjectSerializer, responses={202: ProjectDeletionSerializer})
    def post(self, request: Request, id: UUID) -> Response:
        """Deletes a project with all its data, in the background, for good. It is archived at once, and cannot be
        opened again. For its admins. 409 while jobs or studies have not ended."""
        body = read_body(DeleteProjectSerializer, request)
        project: Project = Project.objects.select_related("organisation").get_visible(request.user, id)
        begun = begin_project_deletion(project, name=body["name"], actor=caller(request))
        return Response(ProjectDeletionSerializer(begun).data, status=status.HTTP_202_ACCEPTED)


class ProjectDeletionsView(VisibleMixin, generics.ListAPIView[ProjectDeletion]):
    """Deletions of projects with their data that one has asked for; administrators of the platform see all."""

    queryset = ProjectDeletion.objects.all()
    serializer_class = ProjectDeletionSerializer


class ProjectDeletionView(VisibleMixin, generics.RetrieveAPIView[ProjectDeletion]):
    """How far a deletion is, also when the project is gone."""

    queryset = ProjectDeletion.objects.all()
    serializer_class = ProjectDeletionSerializer


def _shown(found: DeletedContents) -> dict[str, Any]:
    return {
        "counts": found.counts,
        "n_bytes": found.n_bytes,
        "shared_bytes": found.shared_bytes,
        "refusals": [{"code": r.code, "message": r.message, "remedy": r.remedy} for r in found.refusals],
    }
