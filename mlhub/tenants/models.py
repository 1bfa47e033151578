# SPDX-License-Identifier: Apache-2.0
"""People and what they belong to; how much an organisation may use."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import AbstractUser
from django.db import models

from mlhub.core.ids import new_id
from mlhub.tenants.accounts import AccountManager
from mlhub.tenants.owner_models import OfOwner, OfTime
from mlhub.tenants.passkey_models import Passkey as Passkey
from mlhub.tenants.passkey_models import UsedChallenge as UsedChallenge
from mlhub.tenants.querysets import (
    BoostQuerySet,
    InvitationQuerySet,
    MembershipQuerySet,
    OrganisationQuerySet,
    OwnQuerySet,
    ProjectOwnedQuerySet,
    ProjectQuerySet,
    QuotaRequestQuerySet,
    SessionQuerySet,
    TeamOwnedQuerySet,
    TeamQuerySet,
    TenantOwnedQuerySet,
    UserQuotaQuerySet,
)
from mlhub.tenants.role_models import RoleBinding as RoleBinding
from mlhub.tenants.roles import Role
from mlhub.tenants.token_models import ApiToken as ApiToken


class User(AbstractUser):
    """A person or a service account. is_staff = platform administrator.

    service_of: the organisation of a service account, which has no password and so no session; None for a person.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    service_of = models.ForeignKey(
        "Organisation", on_delete=models.CASCADE, null=True, blank=True, related_name="service_accounts"
    )

    objects: ClassVar[AccountManager] = AccountManager()

    # of a request: the token that it came with, whose limits narrow what visible_to and role_of find
    acting_token: ClassVar[ApiToken | None] = None

    # of a request: an administrator whose rights wait for a second factor, and who acts as an ordinary user until then
    needs_second_factor: ClassVar[bool] = False

    # of a request of an administrator who sees as this user: who that is, and until when (sign_in/impersonation.py)
    impersonated_by: ClassVar[User | None] = None
    impersonation: ClassVar[Any] = None

    class Meta(AbstractUser.Meta):
        constraints = [
            models.CheckConstraint(
                condition=models.Q(service_of=None)
                | models.Q(password__startswith=UNUSABLE_PASSWORD_PREFIX, is_staff=False, is_superuser=False),
                name="service_accounts_cannot_sign_in",
            )
        ]


class SecondFactor(models.Model):
    """A secret that the user's authenticator app shares; it counts from confirmed_at on.

    last_step: the 30-second step of the last accepted code; recovery_hashes: SHA-256 of the codes that are unused. They
    count with passkeys as well: who has these and no app has a row without a secret.
    """

    user = models.OneToOneField(User, on_delete=models.CASCADE, primary_key=True, related_name="second_factor")
    encrypted_secret = models.TextField()
    last_step = models.BigIntegerField(default=0)
    recovery_hashes = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    confirmed_at = models.DateTimeField(null=True, blank=True)


class SignInMethod(models.TextChoices):
    PASSWORD = "password"  # also by a link that sets one
    SINGLE_SIGN_ON = "single_sign_on"
    PASSKEY = "passkey"


class ExternalIdentity(models.Model):
    """Who an account is at a provider of single sign-on: (issuer, subject), never a name or an address.

    label: what the provider called the person when they signed in last, to be shown only.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="identities", db_index=False)
    issuer = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)
    label = models.CharField(max_length=254, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    last_sign_in_at = models.DateTimeField(null=True, blank=True)

    objects = OwnQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="one_account_per_identity"),
            models.UniqueConstraint(fields=["user", "issuer"], name="one_identity_per_provider"),
        ]


class UserSession(models.Model):
    """A browser in which a user is signed in; the session itself is Django's, of the same key."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sessions")
    session_key = models.CharField(max_length=40, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    address = models.CharField(max_length=45, blank=True, default="")
    user_agent = models.CharField(max_length=200, blank=True, default="")
    method = models.CharField(max_length=20, choices=SignInMethod.choices, default=SignInMethod.PASSWORD)

    objects = SessionQuerySet.as_manager()


class Organisation(models.Model):
    """The tenant: nothing of one organisation is visible to another."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=100, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)  # from then on its projects take no uploads and no jobs
    members = models.ManyToManyField(User, through="Membership", related_name="organisations")

    objects = OrganisationQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name


class Team(models.Model):
    """parent: the team that it is a part of; None = directly below its organisation."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="teams", db_index=False)
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="children")
    name = models.CharField(max_length=100)

    objects = TeamQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organisation", "name"], name="team_name_in_organisation")]

    def __str__(self) -> str:
        return f"{self.organisation}/{self.name}"


class Project(models.Model):
    """Where datasets, models and jobs live. created_by: who made it, None where that account is gone or not known."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="projects", db_index=False)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, blank=True, related_name="projects")
    name = models.CharField(max_length=100)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, editable=False, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)  # from then on it takes no uploads and no jobs

    objects = ProjectQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organisation", "name"], name="project_name_in_organisation")]

    def __str__(self) -> str:
        return f"{self.organisation}/{self.name}"


class Membership(models.Model):
    """from_groups: follows from the person's groups at the provider of single sign-on, and goes with them."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships", db_index=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=[(r.value, r.value) for r in Role])
    from_groups = models.BooleanField(default=False, db_default=False)

    objects = MembershipQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "organisation"], name="one_membership_per_organisation")]


class Invitation(models.Model):
    """An offer to belong to an organisation: to the account of this name, which need not exist, or by a link.

    username: "" for a link, of whose secret link_hash is the SHA-256; email: where the link was sent to, or "".
    answer: "" while it waits; accepted or declined by the invited, withdrawn by an admin.
    """

    ANSWERS = [(word, word) for word in ("accepted", "declined", "withdrawn")]

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="invitations")
    username = models.CharField(max_length=150, blank=True, default="")
    link_hash = models.CharField(max_length=64, null=True, unique=True)
    email = models.EmailField(blank=True, default="", db_default="")
    role = models.CharField(max_length=10, choices=[(r.value, r.value) for r in Role])
    invited_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    answer = models.CharField(max_length=10, choices=ANSWERS, blank=True, default="")

    objects = InvitationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "username"],
                condition=models.Q(answer="") & ~models.Q(username=""),
                name="one_invitation_that_waits",
            )
        ]


class QuotaRules(models.Model):
    """What an owner may use, in GPUs; empty = no limit, and no guarantee. version guards concurrent edits.

    shares_fairly: what none of its parts is guaranteed goes to them by weight. half_life_s: of their use, by which it
    is their turn; 0 = only what they hold now counts. ..._by_type: as max_gpus, guarantee, borrow_limit and
    lend_limit, of single types. max_cpus, max_memory_bytes: that pods request. max_waiting_jobs: for jobs that enter
    the queue. max_priority: of members' jobs. budgets: of GPU-hours per period, as in budgets.py; budget_alerts: the
    newest alert of each. Words as in docs/guides/quota.md.
    """

    RECLAIM = [(word, word) for word in ("never", "lower_priority", "any")]

    max_gpus = models.PositiveIntegerField(null=True, blank=True)
    gpus_by_type = models.JSONField(default=dict, db_default={}, blank=True)
    max_cpus = models.PositiveIntegerField(null=True, blank=True)
    max_memory_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    max_running_jobs = models.PositiveIntegerField(null=True, blank=True)
    max_waiting_jobs = models.PositiveIntegerField(null=True, blank=True)
    max_storage_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    guarantee = models.PositiveIntegerField(null=True, blank=True)
    guarantee_by_type = models.JSONField(default=dict, db_default={}, blank=True)
    borrow_limit = models.PositiveIntegerField(null=True, blank=True)
    borrow_limit_by_type = models.JSONField(default=dict, db_default={}, blank=True)
    lend_limit = models.PositiveIntegerField(null=True, blank=True)
    lend_limit_by_type = models.JSONField(default=dict, db_default={}, blank=True)
    reclaim = models.CharField(max_length=20, choices=RECLAIM, default="any")
    weight = models.FloatField(default=1.0)
    max_priority = models.SmallIntegerField(null=True, blank=True)
    shares_fairly = models.BooleanField(default=False)
    half_life_s = models.FloatField(default=0.0)
    budgets = models.JSONField(default=list, db_default=[], blank=True)
    budget_alerts = models.JSONField(default=dict, db_default={}, blank=True, editable=False)
    version = models.PositiveIntegerField(default=1)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True


class Quota(QuotaRules):
    """An organisation's; it holds for the sum of its teams and projects."""

    organisation = models.OneToOneField(Organisation, on_delete=models.CASCADE, primary_key=True, related_name="quota")

    objects = TenantOwnedQuerySet.as_manager()


class TeamQuota(QuotaRules):
    """A part of the organisation's, for a team's projects together."""

    team = models.OneToOneField(Team, on_delete=models.CASCADE, primary_key=True, related_name="quota")

    objects = TeamOwnedQuerySet.as_manager()


class ProjectQuota(QuotaRules):
    """A part of its team's, or of its organisation's if it has no team."""

    project = models.OneToOneField(Project, on_delete=models.CASCADE, primary_key=True, related_name="quota")

    objects = ProjectOwnedQuerySet.as_manager()


class UserQuota(OfOwner):
    """What one user may have of an organisation, or of its team or project. user: None = of each who has no other.

    gpus_by_type: the most GPUs at a time, by GPU type. max_cpus, max_memory_bytes: that pods request.
    max_storage_bytes: of an organisation only. budgets: as a
    quota's, of which each user has an own one. None and {} = no limit.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="user_quotas", db_index=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, null=True, blank=True, related_name="user_quotas")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, null=True, blank=True, related_name="user_quotas")
    user = models.ForeignKey(User, on_delete=models.CASCADE, null=True, blank=True, related_name="quotas")
    max_gpus = models.PositiveIntegerField(null=True, blank=True)
    gpus_by_type = models.JSONField(default=dict, db_default={}, blank=True)
    max_cpus = models.PositiveIntegerField(null=True, blank=True)
    max_memory_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    max_running_jobs = models.PositiveIntegerField(null=True, blank=True)
    max_waiting_jobs = models.PositiveIntegerField(null=True, blank=True)
    max_storage_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    budgets = models.JSONField(default=list, db_default=[], blank=True)
    version = models.PositiveIntegerField(default=1)
    updated_at = models.DateTimeField(auto_now=True)

    objects = UserQuotaQuerySet.as_manager()

    class Meta:
        verbose_name = "limit of a user"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(team=None) | models.Q(project=None), name="user_quota_of_one_owner"
            ),
            models.UniqueConstraint(
                fields=["organisation", "team", "project", "user"], nulls_distinct=False, name="one_quota_of_a_user"
            ),
        ]


class QuotaBoost(OfTime, OfOwner):
    """GPUs that are added to the rules of an organisation, or of its team or project, from starts_at until ends_at.

    extra_gpus_by_type: to limits of single types; extra_guarantee_by_type: GPUs of these, besides extra_guarantee of
    any type. ended_at: when it was ended before its end, or when that was recorded; ended_by: None for an end by
    itself.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="boosts")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, null=True, blank=True, related_name="boosts")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, null=True, blank=True, related_name="boosts")
    extra_guarantee = models.PositiveIntegerField(default=0)
    extra_max_gpus = models.PositiveIntegerField(default=0)
    extra_gpus_by_type = models.JSONField(default=dict, db_default={}, blank=True)
    extra_guarantee_by_type = models.JSONField(default=dict, db_default={}, blank=True)
    reason = models.CharField(max_length=200, blank=True, default="")
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")

    objects = BoostQuerySet.as_manager()

    class Meta:
        verbose_name = "boost"
        constraints = [
            models.CheckConstraint(condition=models.Q(team=None) | models.Q(project=None), name="boost_of_one_owner")
        ]


class QuotaRequest(OfOwner):
    """What a member asks to be added to the rules of an organisation, or of its team or project, and the answer.

    starts_at: None to begin with the approval. ends_at: None to ask for good. answer: "" while it waits; withdrawn by
    who asked. note: why it was answered so.
    """

    ANSWERS = [(word, word) for word in ("approved", "refused", "withdrawn")]

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="quota_requests")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, null=True, blank=True, related_name="quota_requests")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, null=True, blank=True, related_name="quota_requests")
    extra_guarantee = models.PositiveIntegerField(default=0)
    extra_max_gpus = models.PositiveIntegerField(default=0)
    extra_gpus_by_type = models.JSONField(default=dict, db_default={}, blank=True)
    extra_guarantee_by_type = models.JSONField(default=dict, db_default={}, blank=True)
    starts_at = models.DateTimeField(null=True, blank=True)
    ends_at = models.DateTimeField(null=True, blank=True)
    reason = models.CharField(max_length=500)
    requested_by = models.ForeignKey(User, on_delete=models.CASCADE, related_name="quota_requests")
    created_at = models.DateTimeField(auto_now_add=True)
    answer = models.CharField(max_length=10, choices=ANSWERS, blank=True, default="", db_index=True)
    note = models.CharField(max_length=500, blank=True, default="")
    answered_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    answered_at = models.DateTimeField(null=True, blank=True)

    objects = QuotaRequestQuerySet.as_manager()

    class Meta:
        verbose_name = "quota request"

    @property
    def state(self) -> str:
        return self.answer or "waiting"
