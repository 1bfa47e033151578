# SPDX-License-Identifier: Apache-2.0
"""What the views of all apps share: rows filtered by who asks, and bodies that are validated or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404
from rest_framework import generics
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.views import APIView

from mlhub.core.api.names import AddressName, id_in_request
from mlhub.core.api.strict import StrictSerializer

if TYPE_CHECKING:
    from collections.abc import Collection

    from rest_framework.request import Request


class AddressedView(APIView):
    """A view of routes with `<named:id>`, which sees the id where the address has a name."""

    takes_ids_alone: Collection[str] = ("DELETE",)  # methods that cannot be undone

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Puts the id where the name is, once it is known who asks and that they may ask. Raises as id_in_request()."""
        super().initial(request, *args, **kwargs)
        if isinstance(given := self.kwargs.get("id"), AddressName):  # dispatch() calls the method with the same dict
            self.kwargs["id"] = id_in_request(
                given,
                request._request,
                query=request.query_params,
                user=request.user,
                takes_ids_alone=request.method in self.takes_ids_alone,
            )


if TYPE_CHECKING:

    class _View(AddressedView, generics.GenericAPIView[Any]): ...
else:
    _View = AddressedView


class AnyAccept(DefaultContentNegotiation):
    """Of views that answer with files, whose media type the header Accept cannot choose: they never answer 406."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:  # noqa: ARG002
        return renderers[0], renderers[0].media_type


class VisibleMixin(_View):
    """Only rows that the caller may see; all others are 404, as if they were not there. Ids are UUIDs, named `id`."""

    lookup_field = "id"

    def get_queryset(self) -> Any:
        rows: Any = super().get_queryset()
        return rows.visible_to(self.request.user)

    def get_object(self) -> Any:
        """Raises Http404; NotAllowedError for a row that the caller may see, but not with the token of the request."""
        try:
            return super().get_object()
        except Http404:
            rows: Any = super().get_queryset()
            if hasattr(rows, "require_within_token"):
                rows.require_within_token(self.request.user, self.kwargs["id"])
            raise


class DeferredJoinMixin(VisibleMixin):
    """Of rows that are shown with many others: first which rows, from their own table, then all that is shown of them.

    In one query PostgreSQL plans the order of ten joins for longer than it reads, and joins what it then leaves out.
    """

    def get_queryset(self) -> Any:
        rows: Any = self._shown_rows().model._default_manager
        user = self.request.user
        found = rows.visible_to(user) if self.lookup_field in self.kwargs else rows.visible_in_list_to(user)
        return found.only("pk")

    def get_object(self) -> Any:
        found = self._shown([super().get_object().pk])
        if not found:  # deleted in between
            raise Http404
        return found[0]

    def paginate_queryset(self, queryset: Any) -> Any:
        page = super().paginate_queryset(queryset)
        return None if page is None else self._shown([row.pk for row in page])

    def _shown(self, keys: list[Any]) -> list[Any]:
        rows = self._shown_rows().in_bulk(keys)
        return [rows[key] for key in keys if key in rows]

    def _shown_rows(self) -> Any:
        return generics.GenericAPIView.get_queryset(self)


def read_body(serializer_class: type[StrictSerializer], request: Request) -> dict[str, Any]:
    """The validated body. Raises DRF's ValidationError (422) naming each wrong or unknown field."""
    serializer = serializer_class(data=request.data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


def read_query(serializer_class: type[StrictSerializer], request: Request) -> dict[str, Any]:
    """The validated query parameters that the serializer has. Raises DRF's ValidationError (422) naming each wrong one;
    unknown ones were refused by StrictRequests."""
    known = serializer_class().fields
    serializer = serializer_class(data={name: v for name, v in request.query_params.items() if name in known})
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)
