# SPDX-License-Identifier: Apache-2.0
"""The checks of `mlhub doctor` in the running platform, for its administrators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.core.languages.catalogue import in_readers_language
from mlhub.embedded.checks.doctor import MEANINGS, Addresses, checks
from mlhub.embedded.checks.examiner import STATES, Check, CheckResult, Examiner
from mlhub.embedded.home import Home
from mlhub.tenants.access_control.permissions import IsPlatformAdministrator

if TYPE_CHECKING:
    from rest_framework.request import Request

LIMIT_S = 15.0  # for all checks together: somebody waits for the page
OF_THIS_MACHINE = ("sandbox", "gpus", "folder")  # where pods and uploads run, if not in Kubernetes
_examiner = Examiner()  # one for all requests of the process: a check that hangs is not begun again


class PlatformCheckSerializer(serializers.Serializer[Any]):
    """One thing that was looked at."""

    name = serializers.ChoiceField(choices=list(MEANINGS), help_text="What was looked at.")
    state = serializers.ChoiceField(
        choices=STATES, help_text="ok; problem; unknown: the check itself failed, or did not end in time."
    )
    meaning = serializers.CharField(help_text="What does not work where it is not ok.")
    detail = serializers.CharField(help_text="What was found.")
    remedy = serializers.CharField(help_text="What to do about it; empty where it is ok.")


class PlatformChecksSerializer(serializers.Serializer[Any]):
    """What the checks of the installation found, in their order."""

    checks = PlatformCheckSerializer(many=True, help_text="Each check; one may have found several things.")


class PlatformChecksView(APIView):
    permission_classes = [IsPlatformAdministrator]

    @extend_schema(request=None, responses=PlatformChecksSerializer)
    def post(self, request: Request) -> Response:  # noqa: ARG002 (DRF's signature)
        """Runs the checks of `mlhub doctor` that make sense while the platform runs, and answers within 15 s. They
        change nothing. Platform administrators only."""
        wanted = _checks()
        meanings = {check.name: check.meaning for check in wanted}
        found = [_shown(result, meanings[result.name]) for result in _examiner.examine(wanted, limit_s=LIMIT_S)]
        return Response(PlatformChecksSerializer({"checks": found}).data)


def _checks() -> list[Check]:
    addresses = Addresses(settings.DATABASE_URL, settings.REDIS_URL, settings.PUBLIC_URL)
    found = checks(Home(settings.MLHUB_HOME), addresses=addresses)
    return [check for check in found if settings.BACKEND in ("local", "agents") or check.name not in OF_THIS_MACHINE]


def _shown(result: CheckResult, meaning: str) -> dict[str, str]:
    texts = {"meaning": meaning, "detail": result.detail, "remedy": result.remedy}
    return {
        "name": result.name,
        "state": result.state,
        **{name: in_readers_language(text) for name, text in texts.items()},
    }
