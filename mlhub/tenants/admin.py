# SPDX-License-Identifier: Apache-2.0
"""Django's admin page for administrators of the platform; its writes go through the same actions as the API's."""
# ruff: noqa: ARG002 (the signatures are Django's)

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin

from mlhub.core.errors import DomainError
from mlhub.tenants import actions
from mlhub.tenants.audit import record
from mlhub.tenants.models import ApiToken, Membership, Organisation, Project, Quota, Team, User
from mlhub.tenants.roles import Role

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.forms import ModelForm
    from django.http import HttpRequest

admin.site.site_header = "MLHub"
admin.site.site_title = "MLHub"


def _actor(request: HttpRequest) -> User:
    return cast("User", request.user)


@admin.register(User)
class AccountAdmin(UserAdmin):
    """Django's page of accounts, whose changes are audited.

    Who is active and who is an administrator is changed on the page Users, which keeps the last administrator and ends
    sessions.
    """

    readonly_fields = ("is_active", "is_staff", "is_superuser")

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        """People only: a service account has no password that could be set here."""
        found: QuerySet[User] = super().get_queryset(request)
        return found.filter(service_of=None)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Accounts are deleted on the page Users, where what they made passes to another one."""
        return False

    def log_change(self, request: HttpRequest, obj: User, message: Any) -> Any:
        """Called for each change that is made on these pages, the password's too."""
        record(
            "user.changed",
            organisation=None,
            subject_kind="user",
            subject_id=obj.pk,
            actor=_actor(request),
            username=obj.username,
            user_id=obj.pk,
            change=message,
        )
        return super().log_change(request, obj, message)


@admin.register(Quota)
class QuotaAdmin(admin.ModelAdmin):
    """Limits of each organisation; they count from the scheduler's next round on."""

    list_display = ["organisation", "max_gpus", "max_running_jobs", "max_storage_bytes", "weight", "updated_at"]
    list_select_related = ["organisation"]
    fields = [
        "organisation", "max_gpus", "max_running_jobs", "max_storage_bytes", "weight", "shares_fairly", "half_life_s",
        "version",
    ]  # fmt: skip
    readonly_fields = ["organisation", "version"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Quota | None = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Quota, form: ModelForm[Quota], change: bool) -> None:
        """Only what was changed in the form, so that a simultaneous edit of another limit stays."""
        changed = {field: form.cleaned_data[field] for field in form.changed_data}
        actions.set_quota(obj.organisation, **changed, actor=_actor(request))


@admin.register(Organisation)
class OrganisationAdmin(admin.ModelAdmin):
    list_display = ["name", "created_at"]
    search_fields = ["name"]

    def has_delete_permission(self, request: HttpRequest, obj: Organisation | None = None) -> bool:
        """Not with one click: data sets, models and jobs would go with it."""
        return False

    def save_model(self, request: HttpRequest, obj: Organisation, form: ModelForm[Organisation], change: bool) -> None:
        if change:
            super().save_model(request, obj, form, change)
        else:
            obj.pk = actions.create_organisation(obj.name, actor=_actor(request)).pk


@admin.register(Membership)
class MembershipAdmin(admin.ModelAdmin):
    list_display = ["user", "organisation", "role"]
    list_filter = ["organisation", "role"]
    list_select_related = ["user", "organisation"]
    autocomplete_fields = ["user", "organisation"]

    def get_readonly_fields(self, request: HttpRequest, obj: Membership | None = None) -> list[str]:
        return ["user", "organisation"] if obj else []

    def save_model(self, request: HttpRequest, obj: Membership, form: ModelForm[Membership], change: bool) -> None:
        role = Role(form.cleaned_data["role"])
        try:
            if change:
                actions.change_role(obj, role=role, actor=_actor(request))
            else:
                added = actions.add_member(
                    obj.organisation, username=obj.user.username, role=role, actor=_actor(request)
                )
                obj.pk = added.pk
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)

    def delete_model(self, request: HttpRequest, obj: Membership) -> None:
        try:
            actions.remove_member(obj, actor=_actor(request))
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Membership]) -> None:
        for membership in queryset:
            self.delete_model(request, membership)


@admin.register(Team)
class TeamAdmin(admin.ModelAdmin):
    """To look at; teams are made, renamed, moved and deleted on the page Members, which keeps their tree one."""

    list_display = ["name", "parent", "organisation"]
    list_filter = ["organisation"]
    list_select_related = ["parent", "organisation"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Team | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Team | None = None) -> bool:
        return False


@admin.register(Project)
class ProjectAdmin(admin.ModelAdmin):
    list_display = ["name", "organisation", "team", "created_at"]
    list_filter = ["organisation"]

    def has_delete_permission(self, request: HttpRequest, obj: Project | None = None) -> bool:
        """Not with one click: data sets, models and jobs would go with it."""
        return False


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin):
    """To see who has tokens and to revoke them; hashes are not shown, tokens are made by their owners."""

    list_display = ["name", "user", "prefix", "created_at", "expires_at", "last_used_at", "revoked_at"]
    list_filter = ["user"]
    fields = ["name", "user", "prefix", "scopes", "created_at", "expires_at", "last_used_at", "revoked_at"]
    actions = ["revoke"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        return obj is None and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        return False

    @admin.action(description="Revoke the selected tokens", permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        for token in queryset:
            _revoke_token(token, actor=_actor(request))


def _revoke_token(token: ApiToken, *, actor: Any) -> None:
    """By its full name: inside the class, `actions` is the admin's own attribute."""
    actions.revoke_token(token, actor=actor)
