# SPDX-License-Identifier: Apache-2.0
"""What of the protocol the platform does not have. Clients ask for some of it on their own, and go on without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from mlhub.core.errors import NotFoundError
from mlhub.tracking.api.protocol import ProtocolView

if TYPE_CHECKING:
    from rest_framework.request import Request


class UnknownView(ProtocolView):
    """Answers every method alike."""

    required_scope = "read"

    def get(self, request: Request, path: str, **_: Any) -> NoReturn:  # noqa: ARG002 (DRF's signature)
        raise NotFoundError(
            f"MLHub has no MLflow route {path[:200]}.",
            code="no_route",
            remedy="The guide to MLflow lists those it has.",
        )

    post = put = patch = delete = get
