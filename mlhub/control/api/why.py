# SPDX-License-Identifier: Apache-2.0
"""Why a job waits or runs where it runs, and what would change that: the answer's JSON, and the view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from mlhub.control.advice.counterfactuals import Counterfactuals, counterfactuals_of
from mlhub.control.api.quota_serializers import BudgetSerializer
from mlhub.control.api.scheduling import CostsSerializer, DecisionSerializer
from mlhub.control.monitoring import status
from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import AddressedView, read_query
from mlhub.core.languages.catalogue import in_readers_language
from mlhub.jobs.api.serializers import STATES, ExplanationSerializer
from mlhub.jobs.models import Job
from mlhub.tenants.sign_in.authentication import caller
from scheduler.counterfactuals import ActionKind, BlockerKind

if TYPE_CHECKING:
    from rest_framework.request import Request

ACTION_KINDS = [kind.value for kind in ActionKind]


class WhyQuerySerializer(StrictSerializer):
    analysis = serializers.BooleanField(
        default=True, help_text="Whether the policy is asked what the job lacks and what would help; by default true."
    )


class BlockerSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(
        choices=[kind.value for kind in BlockerKind],
        help_text="Free GPUs of one type, a place for the whole gang, quota of GPUs or of running jobs, the "
        "same of the user, borrowing, or GPU-hours of a budget that stops jobs.",
    )
    need = serializers.IntegerField(help_text="How much the job needs: workers, 1 running job, or 1 GPU-hour.")
    have = serializers.IntegerField(help_text="How much of it there is for the job now.")
    total = serializers.IntegerField(help_text="How much there is in all, or the limit.")
    is_blocking = serializers.BooleanField(help_text="Whether the job lacks it now.")
    tenant = serializers.CharField(allow_blank=True, help_text="Whose quota it is; empty for resources.")
    gpu_types = serializers.ListField(
        child=serializers.CharField(), help_text="The types of GPU that count; empty for quota."
    )
    guarantee = serializers.IntegerField(allow_null=True, help_text="GPUs guaranteed to the tenant; null: none.")
    sentence = serializers.CharField(help_text="The same in words.")


class AheadJobSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(help_text="The job's id.")
    name = serializers.CharField(help_text="The job's name.")
    n_workers = serializers.IntegerField(help_text="The number of GPUs that it asks for.")
    explanation = ExplanationSerializer(help_text="Why the policy serves it first.")
    predicted_start_at = serializers.DateTimeField(
        allow_null=True, help_text="When it is predicted to start (median); null when unknown."
    )


class AheadSerializer(serializers.Serializer[Any]):
    n_jobs = serializers.IntegerField(help_text="Waiting jobs that are served before it, of all organisations.")
    n_others = serializers.IntegerField(help_text="Of these, those that the caller may not see.")
    jobs = AheadJobSerializer(many=True, help_text="Those that the caller may see, the next one first; at most 20.")


class AwaitedSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(allow_null=True, help_text="The running job; null when the caller may not see it.")
    name = serializers.CharField(allow_null=True, help_text="Its name; null when the caller may not see it.")
    finish_at = serializers.DateTimeField(allow_null=True, help_text="When it is predicted to finish (median).")


class ActionChangesSerializer(serializers.Serializer[Any]):
    """Only what the action changes is there."""

    priority = serializers.IntegerField(required=False, help_text="The job's new priority.")
    min_workers = serializers.IntegerField(required=False, help_text="The job's new least number of workers.")
    max_workers = serializers.IntegerField(required=False, help_text="The job's new largest number of workers.")
    n_workers = serializers.IntegerField(required=False, help_text="What policies of fixed sizes would give it.")
    gpu_types = serializers.ListField(
        required=False, child=serializers.CharField(), help_text="The types that it may use; an empty list: any."
    )
    max_gpus = serializers.IntegerField(required=False, help_text="The quota's or the user's new limit of GPUs.")
    guarantee = serializers.IntegerField(required=False, help_text="The quota's new guarantee, in GPUs.")
    borrow_limit = serializers.IntegerField(required=False, help_text="The quota's new limit of borrowing, in GPUs.")
    gpus_by_type = serializers.DictField(
        required=False, child=serializers.IntegerField(), help_text="All new limits of single types."
    )
    borrow_limit_by_type = serializers.DictField(
        required=False, child=serializers.IntegerField(), help_text="All new limits of borrowing single types."
    )
    max_cpus = serializers.IntegerField(required=False, help_text="The quota's or the user's new limit of CPUs.")
    max_memory_bytes = serializers.IntegerField(required=False, help_text="The new limit of bytes of memory.")
    max_running_jobs = serializers.IntegerField(required=False, help_text="The new limit of running jobs.")
    budgets = BudgetSerializer(required=False, many=True, help_text="All budgets of GPU-hours, the raised one in them.")


class ActionChangeSerializer(serializers.Serializer[Any]):
    """One of several limits that are raised together."""

    kind = serializers.ChoiceField(choices=ACTION_KINDS, help_text="What would be done.")
    sentence = serializers.CharField(help_text="The same in words.")
    tenant = serializers.CharField(help_text="Whose quota would be changed.")
    changes = ActionChangesSerializer(help_text="Fields with their new values, after the changes before it.")


class ActionSerializer(serializers.Serializer[Any]):
    """An action that the policy itself confirmed: it decided on the cluster as it would be then."""

    kind = serializers.ChoiceField(choices=ACTION_KINDS, help_text="What would be done.")
    sentence = serializers.CharField(help_text="The same in words.")
    together = ActionChangeSerializer(
        many=True, help_text="Limits that would all be raised, as fewer of them do not help; empty: it is one change."
    )
    by = serializers.ChoiceField(choices=["member", "administrator"], help_text="Who may do it.")
    job = serializers.UUIDField(allow_null=True, help_text="The job that is changed or paused; null for quotas.")
    tenant = serializers.CharField(allow_blank=True, help_text="Whose quota would be changed; empty for jobs.")
    changes = ActionChangesSerializer(
        help_text="Fields with their new values; empty for a pause, and for several limits."
    )
    starts_now = serializers.BooleanField(help_text="Whether the job would start in the next round.")
    start_at = serializers.DateTimeField(allow_null=True, help_text="When it would start (median); null: it runs.")
    start_p90_at = serializers.DateTimeField(
        allow_null=True, help_text="When it would have started with a probability of 90 %; null when unknown."
    )
    finish_at = serializers.DateTimeField(allow_null=True, help_text="When it would finish (median).")
    finish_p90_at = serializers.DateTimeField(
        allow_null=True, help_text="When it would have finished with a probability of 90 %; null when unknown."
    )
    gain_s = serializers.FloatField(
        allow_null=True,
        help_text="Seconds by which a waiting job starts earlier, or a running one finishes earlier; null: without the "
        "action that is not predicted.",
    )
    n_delayed = serializers.IntegerField(help_text="Other jobs that would finish later.")
    n_delayed_others = serializers.IntegerField(help_text="Of these, those that the caller may not see.")
    delayed_s = serializers.FloatField(help_text="By how many seconds these would finish later, in sum.")


class AnalysisSerializer(serializers.Serializer[Any]):
    """What the live policy decides on the present cluster, and on the same cluster after each action."""

    policy = serializers.CharField(help_text="The policy that decided.")
    as_of = serializers.DateTimeField(help_text="When it was asked.")
    compute_ms = serializers.FloatField(help_text="How long the policy took for all of it, in milliseconds.")
    n_workers = serializers.IntegerField(help_text="The workers with which the job starts at least.")
    start_at = serializers.DateTimeField(allow_null=True, help_text="When it is predicted to start (median).")
    finish_at = serializers.DateTimeField(allow_null=True, help_text="When it is predicted to finish (median).")
    blockers = BlockerSerializer(many=True, help_text="Need against have, what is lacking first; of waiting jobs.")
    ahead = AheadSerializer(help_text="The jobs that are served before it.")
    awaited = AwaitedSerializer(
        allow_null=True, help_text="The running job at whose end it is predicted to start; null when there is none."
    )
    actions = ActionSerializer(many=True, help_text="What would help, the earliest start or finish first.")
    n_tried = serializers.IntegerField(help_text="The number of actions that were tried.")
    n_untried = serializers.IntegerField(help_text="Actions that were not tried for want of time.")


class WhySerializer(serializers.Serializer[Any]):
    """place: among all that wait, from 1. costs: of the job's family. history: newest first."""

    job = serializers.UUIDField(help_text="The job's id.")
    state = serializers.ChoiceField(choices=STATES, help_text="The job's state.")
    headline = serializers.CharField(help_text="The answer in one sentence.")
    explanations = ExplanationSerializer(many=True, help_text="Why, in words and numbers.")
    place = serializers.IntegerField(
        allow_null=True, help_text="Its place among all jobs that wait, from 1; null when it does not wait."
    )
    predicted_start_at = serializers.DateTimeField(
        allow_null=True, help_text="When the job is predicted to start (median); null when unknown."
    )
    predicted_start_p90_at = serializers.DateTimeField(
        allow_null=True,
        help_text="When the job is predicted to have started with a probability of 90 %; null when unknown.",
    )
    predicted_finish_at = serializers.DateTimeField(
        allow_null=True, help_text="When the job is predicted to finish (median); null when unknown."
    )
    predicted_finish_p90_at = serializers.DateTimeField(
        allow_null=True,
        help_text="When the job is predicted to have finished with a probability of 90 %; null when unknown.",
    )
    costs = CostsSerializer(help_text="What restarts of this family of jobs cost.")
    history = DecisionSerializer(many=True, help_text="The decisions on the job, newest first.")
    analysis = AnalysisSerializer(
        allow_null=True, help_text="What it lacks and what would help, as the live policy decides; null: see note."
    )
    note = serializers.CharField(allow_blank=True, help_text="Why there is no analysis; empty where there is one.")


class WhyView(AddressedView):
    @extend_schema(parameters=[WhyQuerySerializer], responses=WhySerializer)
    def get(self, request: Request, id: str) -> Response:
        """Why the job waits, runs or has failed, in words and numbers; what would change that, as confirmed by the live
        policy; and what was decided on it before."""
        query = read_query(WhyQuerySerializer, request)
        job: Job = Job.objects.get_visible(request.user, id)
        found = Counterfactuals(None, "It was not asked for.")
        if query["analysis"]:
            found = counterfactuals_of(job, user=caller(request), now=timezone.now())
        answer = {**status.why(job), "analysis": found.analysis, "note": in_readers_language(found.note)}
        return Response(WhySerializer(answer).data)
