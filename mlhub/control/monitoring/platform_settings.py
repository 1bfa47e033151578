# SPDX-License-Identifier: Apache-2.0
"""The settings that hold in the running platform, for its administrators; of those that hold secrets only whether they
are set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.settings.single_sign_on import EVERYBODY
from mlhub.tenants.access_control.permissions import IsPlatformAdministrator

if TYPE_CHECKING:
    from rest_framework.request import Request


class SettingGroup(StrEnum):
    FEATURES = "features"
    SIGN_IN = "sign_in"
    LIMITS = "limits"
    RETENTION = "retention"


class SettingKind(StrEnum):
    """What the value is: a switch is "on" or "off", numbers are decimal, a text may be a list with commas."""

    SWITCH = "switch"
    NUMBER = "number"
    BYTES = "bytes"
    SECONDS = "seconds"
    DAYS = "days"
    TEXT = "text"


@dataclass(frozen=True)
class ShownSetting:
    """name: the variable of the environment. value: "" for a text that is not set."""

    group: SettingGroup
    name: str
    kind: SettingKind
    value: str


class PlatformSettingSerializer(serializers.Serializer[Any]):
    """One setting."""

    group = serializers.ChoiceField(choices=list(SettingGroup), help_text="What it belongs to.")
    name = serializers.CharField(help_text="The variable of the environment that sets it.")
    kind = serializers.ChoiceField(choices=list(SettingKind), help_text="What its value is.")
    value = serializers.CharField(
        help_text='What holds: "on" or "off" of a switch, a decimal number, or a text, which is empty if not set.'
    )


class PlatformSettingsSerializer(serializers.Serializer[Any]):
    """What is set up in the installation."""

    settings = PlatformSettingSerializer(many=True, help_text="Each setting, by group.")


class PlatformSettingsView(APIView):
    permission_classes = [IsPlatformAdministrator]

    @extend_schema(responses=PlatformSettingsSerializer)
    def get(self, request: Request) -> Response:  # noqa: ARG002 (DRF's signature)
        """Returns the settings that hold, as the web process was started with them. Secrets are not among them.
        Platform administrators only."""
        return Response({"settings": [asdict(one) for one in shown_settings()]})


def shown_settings() -> list[ShownSetting]:
    """Returns those that say what people can do here, how they sign in, and how long what is kept."""
    return [*_features(), *_sign_in(), *_limits(), *_retention()]


def _features() -> Iterator[ShownSetting]:
    group = SettingGroup.FEATURES
    yield _text(group, "MLHUB_BACKEND", settings.BACKEND)
    yield _text(group, "MLHUB_NOTEBOOK_ORIGIN", settings.NOTEBOOK_ORIGIN)
    yield _number(group, "MLHUB_PREDICTORS", settings.PREDICTORS)
    yield _number(group, "MLHUB_WARM_WORKERS", settings.WARM_WORKERS)
    yield _number(group, "MLHUB_JOBS_PER_GPU", settings.JOBS_PER_GPU)
    yield _number(group, "MLHUB_NODE_EXCLUDE_AFTER", settings.NODE_EXCLUDE_AFTER)
    yield _switch(group, "MLHUB_BUILD_SOURCES", is_on=settings.BUILD_SOURCES)
    yield _text(group, "MLHUB_DATA_FOLDERS", *map(str, settings.DATA_FOLDERS))
    yield _text(group, "MLHUB_DATA_ALLOW", *settings.DATA_ALLOW)
    yield _text(group, "MLHUB_WEBHOOK_ALLOW", *settings.WEBHOOK_ALLOW)
    yield _switch(group, "MLHUB_EMAIL_URL", is_on=settings.HAS_MAIL_SERVER)
    yield _switch(group, "MLHUB_RATE_LIMITS", is_on=settings.HAS_RATE_LIMITS)
    yield _switch(group, "MLHUB_ALLOW_WEAK_SANDBOX", is_on=settings.ALLOW_WEAK_SANDBOX)


def _sign_in() -> Iterator[ShownSetting]:
    group, provider = SettingGroup.SIGN_IN, settings.SINGLE_SIGN_ON
    yield _text(group, "MLHUB_OIDC_ISSUER", provider.issuer if provider else "")
    if provider:
        yield _text(group, "MLHUB_OIDC_NEW_USERS", provider.new_users)
        yield _switch(group, "MLHUB_OIDC_LINK_BY_EMAIL", is_on=provider.links_by_email)
        yield _switch(group, "MLHUB_OIDC_REPLACES_SECOND_FACTOR", is_on=provider.replaces_second_factor)
    names = settings.PASSWORD_USERS
    yield _text(group, "MLHUB_PASSWORD_SIGN_IN", *([EVERYBODY] if names is None else sorted(names)))
    yield _switch(group, "MLHUB_PASSKEY_SIGN_IN", is_on=settings.PASSKEY_SIGN_IN)
    yield _switch(group, "MLHUB_REQUIRE_SECOND_FACTOR", is_on=settings.REQUIRE_SECOND_FACTOR)
    yield _number(group, "MLHUB_IMPERSONATION_MINUTES", 60 * settings.IMPERSONATION_MINUTES, SettingKind.SECONDS)


def _limits() -> Iterator[ShownSetting]:
    group = SettingGroup.LIMITS
    for name in ("MAX_UPLOAD_BYTES", "MAX_RESUMABLE_UPLOAD_BYTES", "MAX_ENVIRONMENT_BYTES", "MAX_LOG_BYTES"):
        yield _number(group, f"MLHUB_{name}", getattr(settings, name), SettingKind.BYTES)
    for name in (
        "MAX_WAITING_JOBS_PER_USER",
        "MAX_WAITING_JOBS_PER_ORGANISATION",
        "MAX_LIVE_STUDIES_PER_ORGANISATION",
        "MAX_METRICS_PER_JOB",
        "MAX_POINTS_PER_JOB",
    ):
        yield _number(group, f"MLHUB_{name}", getattr(settings, name))
    limits = ("START_TIMEOUT_S", "STALL_LIMIT_S", "SCRIPT_STALL_LIMIT_S", "FETCH_TIMEOUT_S", "ENVIRONMENT_TIMEOUT_S")
    for name in limits:
        yield _number(group, f"MLHUB_{name}", getattr(settings, name), SettingKind.SECONDS)


def _retention() -> Iterator[ShownSetting]:
    for kind, days in settings.KEPT_DAYS.items():
        yield _number(SettingGroup.RETENTION, f"MLHUB_KEEP_{kind.upper()}_DAYS", days, SettingKind.DAYS)


def _text(group: SettingGroup, name: str, *values: str) -> ShownSetting:
    return ShownSetting(group, name, SettingKind.TEXT, ", ".join(filter(None, values)))


def _switch(group: SettingGroup, name: str, *, is_on: bool) -> ShownSetting:
    return ShownSetting(group, name, SettingKind.SWITCH, "on" if is_on else "off")


def _number(group: SettingGroup, name: str, value: float, kind: SettingKind = SettingKind.NUMBER) -> ShownSetting:
    return ShownSetting(group, name, kind, f"{value:.15g}")
