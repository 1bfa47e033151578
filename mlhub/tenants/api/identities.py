# SPDX-License-Identifier: Apache-2.0
"""One's own identities at the provider of single sign-on: listed, linked with the password, unlinked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers, status
from rest_framework.response import Response

from mlhub.core.api.described import described
from mlhub.core.api.views import VisibleMixin, read_body
from mlhub.tenants.actions.sign_in.identities import unlink_identity
from mlhub.tenants.actions.sign_in.owner_checks import require_owner
from mlhub.tenants.api.account import require_session
from mlhub.tenants.api.proofs import OwnerProofSerializer
from mlhub.tenants.api.single_sign_on import ProviderAddressSerializer, begin
from mlhub.tenants.models import ExternalIdentity
from mlhub.tenants.sign_in.authentication import caller
from mlhub.tenants.single_sign_on.begun import BegunSignIn

if TYPE_CHECKING:
    from rest_framework.request import Request


class IdentitySerializer(serializers.ModelSerializer[ExternalIdentity]):
    class Meta:
        model = ExternalIdentity
        fields = ["id", "issuer", "subject", "label", "created_at", "last_sign_in_at"]
        extra_kwargs = described(
            id="The id of the link.",
            issuer="The provider's address.",
            subject="The person's id at the provider.",
            label="What the provider called the person last: an e-mail address or a name.",
            created_at="When it was linked.",
            last_sign_in_at="When it signed in last; null: never.",
        )


class IdentitiesView(VisibleMixin, generics.ListAPIView[ExternalIdentity]):
    """The identities with which one signs in to this account."""

    queryset = ExternalIdentity.objects.all()
    serializer_class = IdentitySerializer

    @extend_schema(request=OwnerProofSerializer, responses=ProviderAddressSerializer)
    def post(self, request: Request) -> Response:
        """Begins to link an identity: the person signs in at the provider. With password, and second factor
        where there is one, as the identity opens the account from then on."""
        require_session(request)
        user, body = caller(request), read_body(OwnerProofSerializer, request)
        require_owner(request._request, user, **body)
        return begin(BegunSignIn.new(next="/account", linking=str(user.pk)))


class IdentityView(VisibleMixin, generics.GenericAPIView[ExternalIdentity]):
    queryset = ExternalIdentity.objects.select_related("user")
    serializer_class = IdentitySerializer

    @extend_schema(responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """Unlinks it and ends one's other sessions; 409 when it is the only way to sign in."""
        require_session(request)
        unlink_identity(self.get_object(), keep_session=request._request.session.session_key)
        return Response(status=status.HTTP_204_NO_CONTENT)
