# SPDX-License-Identifier: Apache-2.0
"""What if: the question's and the answer's JSON, and the view. The caller names and sees visible jobs only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub.clusters.models import Node
from mlhub.control.actions import check_policy
from mlhub.control.advice import whatif
from mlhub.control.advice.hypothetical_jobs import HypotheticalJob, suppose_job
from mlhub.control.api.boosts import EXTRA_BY_TYPE, EXTRA_GUARANTEE_BY_TYPE, extra_by_type
from mlhub.control.api.effects import EffectSerializer, visible_among
from mlhub.control.api.quota_serializers import (
    MAX_BYTES,
    MAX_COUNT,
    MAX_STORAGE,
    MAX_WAITING,
    RULES,
    QuotaRulesSerializer,
)
from mlhub.control.api.serializers import OvercommitmentSerializer
from mlhub.control.api.user_quotas import UserQuotaChangeSerializer, member_of
from mlhub.control.quotas import quota_tree
from mlhub.control.quotas.below_use import ENDS_NOTHING, limits_below_use
from mlhub.control.quotas.budgets import budgets_now
from mlhub.control.quotas.overcommitment import Overcommitment, guaranteed_in, overcommitments_if
from mlhub.control.quotas.type_guarantees import require_limited_types_there, require_types_there
from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import read_body
from mlhub.core.errors import InvalidInputError
from mlhub.jobs.api.further_datasets import further_datasets_of
from mlhub.jobs.api.requests import MAX_WORKERS, JobSubmitSerializer
from mlhub.jobs.api.views import dataset_version_of, model_version_of, project_of
from mlhub.jobs.limits.priorities import MOST_PRIORITY
from mlhub.jobs.models import Job, JobKind
from mlhub.jobs.states import ENDED
from mlhub.tenants.access_control.permissions import require_administrator
from mlhub.tenants.actions.limits.boosts import MOST_EXTRA, checked_amounts
from mlhub.tenants.actions.limits.quotas import BY_TYPE, Owner, checked_types
from mlhub.tenants.actions.limits.user_quotas import LIMITS, supposed_user_quota
from mlhub.tenants.models import Organisation, Project, Team, User
from mlhub.tenants.quota_terms.boosts import BoostAmounts
from mlhub.tenants.quota_terms.budgets import checked_budgets
from mlhub.tenants.sign_in.authentication import caller
from scheduler import policy_named

if TYPE_CHECKING:
    from rest_framework.request import Request

OWNERS: dict[str, Any] = {"organisation": Organisation, "team": Team, "project": Project}
EXTRAS: dict[str, Any] = {
    "extra_guarantee": 0, "extra_max_gpus": 0, "extra_gpus_by_type": None, "extra_guarantee_by_type": None,
}  # fmt: skip
MOST = 20  # changes of one kind in a question


class WhatIfJobSerializer(StrictSerializer):
    """A job, and what would be different of it. n_workers: exactly so many, instead of min_ and max_workers."""

    job = serializers.UUIDField(help_text="The id of the job that would be different.")
    priority = serializers.IntegerField(
        min_value=-MOST_PRIORITY,
        max_value=MOST_PRIORITY,
        required=False,
        help_text="The priority, -100 to 100; higher goes first.",
    )
    n_workers = serializers.IntegerField(
        min_value=1,
        max_value=MAX_WORKERS,
        required=False,
        help_text="Exactly so many workers, instead of min_workers and max_workers.",
    )
    min_workers = serializers.IntegerField(
        min_value=1, max_value=MAX_WORKERS, required=False, help_text="The least number of workers."
    )
    max_workers = serializers.IntegerField(
        min_value=1, max_value=MAX_WORKERS, required=False, help_text="The most workers."
    )


class WhatIfQuotaSerializer(QuotaRulesSerializer):
    """Whose quota: exactly one of organisation, team and project; and its other rules. null lifts a limit.

    extra_...: what one more boost would add to these rules, or to the present ones. max_waiting_jobs and
    max_storage_bytes count when jobs are submitted and data are uploaded: they affect no job, and below_use of the
    answer says where they are below what is used.
    """

    organisation = serializers.UUIDField(
        required=False, help_text="The id of the organisation whose quota would change."
    )
    team = serializers.UUIDField(required=False, help_text="The id of the team whose quota would change.")
    project = serializers.UUIDField(required=False, help_text="The id of the project whose quota would change.")
    max_waiting_jobs = serializers.IntegerField(
        min_value=0, max_value=MAX_COUNT, allow_null=True, required=False, help_text=MAX_WAITING
    )
    max_storage_bytes = serializers.IntegerField(
        min_value=0, max_value=MAX_BYTES, allow_null=True, required=False, help_text=MAX_STORAGE
    )
    extra_guarantee = serializers.IntegerField(
        min_value=0, max_value=MOST_EXTRA, required=False, help_text="GPUs of any type to add to the guarantee."
    )
    extra_max_gpus = serializers.IntegerField(
        min_value=0, max_value=MOST_EXTRA, required=False, help_text="GPUs to add to max_gpus, where that is set."
    )
    extra_gpus_by_type = extra_by_type(EXTRA_BY_TYPE)
    extra_guarantee_by_type = extra_by_type(EXTRA_GUARANTEE_BY_TYPE)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return _of_one_owner(attrs)


class WhatIfUserQuotaSerializer(UserQuotaChangeSerializer):
    """Limits of users: of exactly one of organisation, team and project, asked by its admins; only what is different.

    max_waiting_jobs and max_storage_bytes count when jobs are submitted and data are uploaded: no job is affected.
    """

    version = None  # type: ignore[assignment]  # so a field is left out; nothing is replaced
    organisation = serializers.UUIDField(
        required=False, help_text="The id of the organisation within which users would be limited."
    )
    team = serializers.UUIDField(required=False, help_text="The id of the team within which users would be limited.")
    project = serializers.UUIDField(
        required=False, help_text="The id of the project within which users would be limited."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return _of_one_owner(attrs)


class NewNodesSerializer(StrictSerializer):
    nodes = serializers.IntegerField(min_value=1, max_value=1000, default=1, help_text="The number of nodes.")
    gpus = serializers.IntegerField(min_value=1, max_value=64, help_text="GPUs of each node.")
    gpu_type = serializers.CharField(
        max_length=100, required=False, allow_blank=True, help_text="The type of GPU; empty: the most frequent one."
    )


class WhatIfPolicySerializer(StrictSerializer):
    name = serializers.CharField(max_length=50, help_text="The policy's name.")
    parameters = serializers.DictField(required=False, help_text="The policy's parameters, by name.")


class WhatIfSerializer(StrictSerializer):
    """What would be different; all of it at once. remove_nodes, add_nodes and policy: for administrators."""

    submit = JobSubmitSerializer(required=False, help_text="A job that would be submitted.")
    cancel = serializers.ListField(
        child=serializers.UUIDField(), required=False, max_length=MOST, help_text="Ids of jobs that would be cancelled."
    )
    jobs = serializers.ListField(
        child=WhatIfJobSerializer(), required=False, max_length=MOST, help_text="Jobs that would be different."
    )
    quotas = serializers.ListField(
        child=WhatIfQuotaSerializer(),
        required=False,
        max_length=MOST,
        help_text="Quotas that would be different.",
    )
    user_quotas = serializers.ListField(
        child=WhatIfUserQuotaSerializer(),
        required=False,
        max_length=MOST,
        help_text="Limits of users that would be different; for admins of what they are of.",
    )
    add_nodes = NewNodesSerializer(required=False, help_text="Nodes that would be added.")
    remove_nodes = serializers.ListField(
        child=serializers.CharField(max_length=253),
        required=False,
        max_length=1000,
        help_text="Names of nodes that would be removed.",
    )
    policy = WhatIfPolicySerializer(required=False, help_text="The policy that would decide.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError({"submit": "Say what would be different."})
        return attrs


class BelowUseSerializer(serializers.Serializer[Any]):
    """A limit of the question that would be below what is used of it now."""

    owner = serializers.CharField(help_text="The name of the organisation, team or project whose limit it is.")
    limit = serializers.CharField(help_text="The name of the limit, such as max_gpus.")
    gpu_type = serializers.CharField(allow_blank=True, help_text="The GPU type of a limit of one type; else empty.")
    used = serializers.FloatField(help_text="What is used now, by jobs that start or stop, too.")
    amount = serializers.FloatField(help_text="What the limit would be, with its boosts.")
    drains = serializers.BooleanField(
        help_text="Whether jobs above it save a checkpoint, leave and wait. Otherwise nothing is stopped or deleted, "
        "and what is new is refused."
    )


class WhatIfAnswerSerializer(serializers.Serializer[Any]):
    """basis: what the prediction of the hypothetical job rests on: measured, validated (its speed), guessed, or blank.

    n_jobs: that took part, others' too. effects: on the jobs that you may see and that are affected.
    """

    policy = serializers.CharField(help_text="The policy that decided on both.")
    as_of = serializers.DateTimeField(help_text="When it was predicted.")
    decide_ms = serializers.FloatField(help_text="How long the policy took, in milliseconds.")
    n_jobs = serializers.IntegerField(help_text="The number of jobs that took part, other organisations' included.")
    basis = serializers.CharField(
        allow_blank=True,
        help_text="What the speed of the hypothetical job rests on: measured, validated, guessed, or empty.",
    )
    effects = EffectSerializer(many=True, help_text="The effects on jobs that the caller may see.")
    overcommitted = OvercommitmentSerializer(
        many=True,
        help_text="Where a question about guarantees of organisations or about nodes would have more guaranteed in sum "
        "than the cluster had; for others than platform administrators only where the own guarantee alone is more.",
    )
    below_use = BelowUseSerializer(
        many=True, help_text="Limits of the question's quotas that would be below what is used of them now."
    )
    stop_grace_s = serializers.FloatField(
        help_text="Seconds that each job which leaves has to save a checkpoint, from the next round on."
    )


class WhatIfView(APIView):
    required_scope = "read"  # nothing is changed by it

    @extend_schema(request=WhatIfSerializer, responses=WhatIfAnswerSerializer)
    def post(self, request: Request) -> Response:
        """When jobs would start and end if something were different: the live policy decides on both. 422 as for the
        real thing."""
        body = read_body(WhatIfSerializer, request)
        user = caller(request)
        if any(name in body for name in ("add_nodes", "remove_nodes", "policy")):
            require_administrator(request, self)
        hypothetical = hypothetical_job(user, body["submit"], field="submit.kind") if "submit" in body else None
        supposed = (hypothetical.job,) if hypothetical else ()
        quotas = _quotas(user, body)
        question = whatif.WhatIfQuestion(
            hypothetical=supposed,
            cancelled=tuple(str(_job(user, id, field="cancel").id) for id in body.get("cancel", ())),
            changed=tuple(str(change["job"]) for change in body.get("jobs", ())),
            changes=(*_changes(user, body, quotas), *_changes_of_users(user, body, supposed)),
            policy=_policy(body.get("policy")),
            whole_tree=any(
                "organisation" not in change for name in ("quotas", "user_quotas") for change in body.get(name, ())
            ),
        )
        found = whatif.answer(question, visible=lambda ids: visible_among(user, ids), now=timezone.now())
        shown = {
            "basis": hypothetical.basis if hypothetical else "",
            "overcommitted": _overcommitted(user, body, quotas),
            "below_use": [one for owner, rules in quotas for one in limits_below_use(owner, rules)],
            "stop_grace_s": settings.STOP_GRACE_S,
            **{k: getattr(found, k) for k in found.__annotations__},
        }
        return Response(WhatIfAnswerSerializer(shown).data)


def hypothetical_job(user: User, raw: dict[str, Any], *, field: str = "kind") -> HypotheticalJob:
    """The job of a submission's body, never saved. field: where the kind stands in the request."""
    body = dict(raw)
    dataset_version = dataset_version_of(user, body)
    if "datasets" in body:
        body["datasets"] = further_datasets_of(user, body["datasets"], project=body["project"])
    if body.get("kind", JobKind.TRAIN) != JobKind.TRAIN:
        raise InvalidInputError(
            "Only trainings are predicted.", field=field, remedy="Leave kind out, or submit the job."
        )
    model_version = model_version_of(user, body)
    project = project_of(user, body)
    return suppose_job(project, dataset_version=dataset_version, model_version=model_version, actor=user, **body)


def _changes(user: User, body: dict[str, Any], quotas: Sequence[tuple[Owner, dict[str, Any]]]) -> list[whatif.Change]:
    found = []
    for number, request in enumerate(body.get("jobs", ())):
        job = _job(user, request["job"], field=f"jobs.{number}.job")
        found.append(whatif.with_job(str(job.id), **_requested(request)))
    for owner, rules in quotas:
        decided_by = {name: value for name, value in rules.items() if name not in ENDS_NOTHING}
        found.append(whatif.with_quota(str(owner.id), **decided_by))
    if removed := body.get("remove_nodes"):
        there = set(Node.objects.filter(name__in=removed).values_list("name", flat=True))
        for name in removed:
            if name not in there:
                raise InvalidInputError(f"There is no node {name!r}.", field="remove_nodes", remedy="See /cluster.")
        found.append(whatif.without_nodes(removed))
    if added := body.get("add_nodes"):
        found.append(whatif.with_nodes(added["nodes"], n_gpus=added["gpus"], gpu_type=added.get("gpu_type", "")))
    return found


def _quotas(user: User, body: dict[str, Any]) -> list[tuple[Owner, dict[str, Any]]]:
    """Whose quotas would be different, with the rules as the scheduler would see them."""
    found = []
    for number, request in enumerate(body.get("quotas", ())):
        owner = _owner(user, request, field=f"quotas.{number}")
        rules = {name: request[name] for name in RULES if name in request}
        if "budgets" in rules:
            rules["budgets"] = budgets_now(owner, checked_budgets(rules["budgets"]), now=timezone.now())
        rules |= {name: checked_types(rules[name], field=name) for name in BY_TYPE if name in rules}
        require_limited_types_there(owner, rules)
        found.append((owner, quota_tree.with_boosts(owner, rules, now=timezone.now(), more=_boost_of(request))))
    return found


def _overcommitted(
    user: User, body: dict[str, Any], quotas: Sequence[tuple[Owner, dict[str, Any]]]
) -> list[Overcommitment]:
    """Of a question about guarantees or nodes; what is below an organisation is a part of its guarantee."""
    supposed = {
        owner.pk: guaranteed_in(rules["guarantee"], dict(rules["guarantee_by_type"]))
        for owner, rules in quotas
        if isinstance(owner, Organisation) and "guarantee" in rules
    }
    added, removed = body.get("add_nodes"), body.get("remove_nodes", ())
    if not (supposed or added or removed):
        return []
    gpus = Counter(Node.objects.exclude(name__in=removed).gpus_by_type())
    if added:
        pattern = Node.objects.exclude(name__in=removed).order_by("name").first()
        gpus[added.get("gpu_type") or (pattern.gpu_type if pattern else "gpu")] += added["nodes"] * added["gpus"]
    return overcommitments_if(supposed, gpus_by_type=gpus, user=user)


def _boost_of(request: dict[str, Any]) -> BoostAmounts | None:
    """What the change of a quota would add as a boost."""
    extras = {name: request[name] for name in EXTRAS if request.get(name)}
    require_types_there(extras.get("extra_guarantee_by_type"), field="extra_guarantee_by_type")
    return checked_amounts(**{name: extras.get(name, empty) for name, empty in EXTRAS.items()}) if extras else None


def _changes_of_users(user: User, body: dict[str, Any], hypothetical: Sequence[Job]) -> list[whatif.Change]:
    """All of it at once: whose limits are everyone's depends on who has their own."""
    rows = []
    for number, request in enumerate(body.get("user_quotas", ())):
        owner = _owner(user, request, field=f"user_quotas.{number}")
        person = member_of(owner, request["username"])
        limits = {name: request[name] for name in LIMITS if name in request}
        rows.append(supposed_user_quota(owner, person, actor=user, **limits))
    return [whatif.with_user_quotas(rows, hypothetical=hypothetical, now=timezone.now())] if rows else []


def _owner(user: User, request: dict[str, Any], *, field: str) -> Owner:
    kind = next(name for name in OWNERS if name in request)
    found: Owner = OWNERS[kind].objects.get_visible(user, request[kind], field=f"{field}.{kind}")
    return found


def _of_one_owner(attrs: dict[str, Any]) -> dict[str, Any]:
    """Raises ValidationError unless exactly one owner is named."""
    if sum(name in attrs for name in OWNERS) != 1:
        raise serializers.ValidationError({"organisation": "Name one organisation, team or project."})
    return attrs


def _requested(request: dict[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {
        name: request[name] for name in ("priority", "min_workers", "max_workers") if name in request
    }
    if (exactly := request.get("n_workers")) is not None:
        changes |= {"min_workers": exactly, "max_workers": exactly}
    if changes.get("min_workers", 1) > changes.get("max_workers", MAX_WORKERS):
        raise InvalidInputError("min_workers is above max_workers.", field="jobs", remedy="Give at most max_workers.")
    return changes


def _job(user: User, job_id: Any, *, field: str) -> Job:
    job: Job = Job.objects.get_visible(user, job_id, field=field)
    if job.state in ENDED:
        raise InvalidInputError(f"{job.name} has ended.", field=field, remedy="Name a job that waits or runs.")
    return job


def _policy(raw: dict[str, Any] | None) -> Any:
    if raw is None:
        return None
    check_policy(raw["name"], raw.get("parameters") or {})
    return policy_named(raw["name"], raw.get("parameters") or {})
