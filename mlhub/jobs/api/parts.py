# SPDX-License-Identifier: Apache-2.0
"""The base of views of one part of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlhub.core.api.views import AddressedView
from mlhub.jobs.models import Job

if TYPE_CHECKING:
    from rest_framework.request import Request


class JobPartView(AddressedView):
    """Below /jobs/{id}/; 404 for a job that the caller may not see."""

    def job(self, request: Request) -> Job:
        found: Job = Job.objects.get_visible(request.user, self.kwargs["id"])
        return found
