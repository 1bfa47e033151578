# SPDX-License-Identifier: Apache-2.0
"""One's own passkeys, and signing in with one. Each ceremony begins with options of ours, which count once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers, status
from rest_framework.permissions import AllowAny
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.api.described import described
from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import VisibleMixin, read_body
from mlhub.tenants.actions.sign_in import passkeys as actions
from mlhub.tenants.actions.sign_in.owner_checks import require_owner
from mlhub.tenants.api.account import require_session
from mlhub.tenants.api.proofs import MAX_SIGNED, AssertionSerializer, OwnerProofSerializer
from mlhub.tenants.api.serializers import MeSerializer
from mlhub.tenants.models import Passkey
from mlhub.tenants.passkeys.ceremonies import begin_assertion, begin_creation, remember
from mlhub.tenants.sign_in.authentication import SessionAuthentication, caller
from mlhub.tenants.sign_in.lockout import remember_browser

if TYPE_CHECKING:
    from rest_framework.request import Request

MAX_ATTESTATION = 2**16  # characters; "none" is asked for, and some devices send certificates all the same


class PasskeySerializer(serializers.ModelSerializer[Passkey]):
    class Meta:
        model = Passkey
        fields = ["id", "name", "is_synced", "created_at", "last_used_at"]
        extra_kwargs = described(
            id="The passkey's id.",
            name="What its owner calls it.",
            is_synced="Whether it is kept in an account of its maker's, and so on several devices.",
            created_at="When it was added.",
            last_used_at="When it was used last; null: never.",
        )


class PasskeyOptionsSerializer(serializers.Serializer[Any]):
    options = serializers.DictField(
        help_text="For parseCreationOptionsFromJSON() or parseRequestOptionsFromJSON() of PublicKeyCredential."
    )


class PasskeyAddSerializer(StrictSerializer):
    name = serializers.CharField(max_length=100, help_text="What to call it; at most 100 characters.")
    client_data = serializers.CharField(max_length=MAX_SIGNED, help_text="clientDataJSON of the response, base64url.")
    attestation = serializers.CharField(
        max_length=MAX_ATTESTATION, help_text="attestationObject of the response, base64url."
    )


class PasskeyAddedSerializer(PasskeySerializer):
    recovery_codes = serializers.ListField(
        child=serializers.CharField(),
        help_text="Each works once in place of the passkey after the password; shown this once. Empty: there are some.",
    )

    class Meta(PasskeySerializer.Meta):
        fields = [*PasskeySerializer.Meta.fields, "recovery_codes"]


class PasskeyRenameSerializer(StrictSerializer):
    name = serializers.CharField(max_length=100, help_text="Another name; at most 100 characters.")


class PasskeySignInSerializer(StrictSerializer):
    passkey = AssertionSerializer(help_text="The passkey's answer.")


class PasskeysView(VisibleMixin, generics.ListAPIView[Passkey]):
    """The passkeys of one's account."""

    queryset = Passkey.objects.all()
    serializer_class = PasskeySerializer

    @extend_schema(request=PasskeyAddSerializer, responses={201: PasskeyAddedSerializer})
    def post(self, request: Request) -> Response:
        """Adds the passkey that the browser made with the options; the first second factor ends other sessions."""
        require_session(request)
        body = read_body(PasskeyAddSerializer, request)
        passkey, codes = actions.add_passkey(request._request, caller(request), **body)
        shown = {**PasskeySerializer(passkey).data, "recovery_codes": codes}
        return Response(shown, status=status.HTTP_201_CREATED)


class PasskeyOptionsView(APIView):
    @extend_schema(request=OwnerProofSerializer, responses=PasskeyOptionsSerializer)
    def post(self, request: Request) -> Response:
        """Begins to add a passkey, within five minutes. With password and second factor, with another passkey, or, for
        accounts without a password, within ten minutes of signing in."""
        require_session(request)
        user, proof = caller(request), read_body(OwnerProofSerializer, request)
        actions.require_room(user)
        options, begun = begin_creation(request._request, user)
        require_owner(request._request, user, **proof)
        response = Response({"options": options})
        remember(response, begun)
        return response


class PasskeyView(VisibleMixin, generics.GenericAPIView[Passkey]):
    queryset = Passkey.objects.select_related("user")
    serializer_class = PasskeySerializer

    @extend_schema(request=PasskeyRenameSerializer)
    def patch(self, request: Request, **_: Any) -> Response:
        """Renames it."""
        require_session(request)
        body = read_body(PasskeyRenameSerializer, request)
        return Response(PasskeySerializer(actions.rename_passkey(self.get_object(), **body)).data)


class RemovePasskeyView(VisibleMixin, generics.GenericAPIView[Passkey]):
    queryset = Passkey.objects.select_related("user")

    @extend_schema(request=OwnerProofSerializer, responses={204: None})
    def post(self, request: Request, **_: Any) -> Response:
        """Removes it and ends one's other sessions, with the same proof as adding one; 409 when it is the only way to
        sign in."""
        require_session(request)
        proof = read_body(OwnerProofSerializer, request)
        passkey = self.get_object()
        require_owner(request._request, caller(request), **proof)
        actions.remove_passkey(passkey, keep_session=request._request.session.session_key)
        return Response(status=status.HTTP_204_NO_CONTENT)


class PasskeyChallengeView(APIView):
    permission_classes = [AllowAny]

    @extend_schema(request=None, responses=PasskeyOptionsSerializer, auth=[])
    def post(self, request: Request) -> Response:
        """What a passkey is to sign in this browser within five minutes: to sign in, as a second factor, or to prove
        that it is the owner who asks."""
        SessionAuthentication().enforce_csrf(request)
        options, begun = begin_assertion(request._request)
        response = Response({"options": options})
        remember(response, begun)
        return response


class PasskeySignInView(APIView):
    permission_classes = [AllowAny]

    @extend_schema(request=PasskeySignInSerializer, responses=MeSerializer, auth=[])
    def post(self, request: Request) -> Response:
        """Starts a session; the passkey stands for password and second factor. 422 for one that is not accepted."""
        SessionAuthentication().enforce_csrf(request)
        user = actions.sign_in_by_passkey(request._request, read_body(PasskeySignInSerializer, request)["passkey"])
        response = Response(MeSerializer(user).data)
        remember_browser(request._request, response, username=user.username)
        return response
