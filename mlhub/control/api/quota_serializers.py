# SPDX-License-Identifier: Apache-2.0
"""Quotas as JSON: rules, budgets of GPU-hours, and the books of the tree."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from mlhub.control.api.boosts import QuotaBoostSerializer
from mlhub.control.api.serializers import MAX_BYTES, MAX_COUNT, MAX_HALF_LIFE_S, OvercommitmentSerializer
from mlhub.control.quotas.overcommitment import OVERCOMMITTED
from mlhub.core.api.described import described
from mlhub.core.api.strict import FiniteFloatField, StrictSerializer
from mlhub.tenants.models import Quota, QuotaRules
from mlhub.tenants.quota_terms.budgets import MOST_BUDGETS, MOST_GPU_HOURS, ON_EXHAUSTED, PERIODS


class BudgetSerializer(StrictSerializer):
    """What may be used in a period, with all below it."""

    gpu_hours = FiniteFloatField(min_value=0, max_value=MOST_GPU_HOURS, help_text="GPU-hours of the period.")
    period = serializers.ChoiceField(
        choices=PERIODS,
        default="month",
        help_text="When it is full again: each day, week or month of UTC; once: never.",
    )
    on_exhausted = serializers.ChoiceField(
        choices=ON_EXHAUSTED,
        default="alert",
        help_text="When it is used up. alert: people are notified. stop_new: no job starts. stop_all: no job starts, "
        "and running jobs save a checkpoint and wait.",
    )
    gpu_type = serializers.CharField(
        max_length=100, default="", allow_blank=True, help_text="GPUs of this type count; empty: all of them."
    )


class BudgetUseSerializer(serializers.Serializer[Any]):
    """A budget, and what of it is used in the present period."""

    gpu_hours = serializers.FloatField(help_text="GPU-hours of the period.")
    period = serializers.ChoiceField(
        choices=PERIODS, help_text="When it is full again: each day, week or month of UTC; once: never."
    )
    on_exhausted = serializers.ChoiceField(choices=ON_EXHAUSTED, help_text="What happens when it is used up.")
    gpu_type = serializers.CharField(allow_blank=True, help_text="GPUs of this type count; empty: all of them.")
    used_gpu_hours = serializers.FloatField(help_text="GPU-hours used in this period, by jobs that run now, too.")
    ends_at = serializers.DateTimeField(allow_null=True, help_text="When the period ends; null: it does not.")
    is_exhausted = serializers.BooleanField(help_text="Whether nothing of it is left.")


class QuotaUsedSerializer(serializers.Serializer[Any]):
    gpus = serializers.IntegerField(help_text="GPUs in use now.")
    cpus = serializers.FloatField(help_text="CPUs that pods request now.")
    memory_bytes = serializers.IntegerField(help_text="Bytes of memory that pods request now.")
    running_jobs = serializers.IntegerField(help_text="Jobs that run now.")
    waiting_jobs = serializers.IntegerField(help_text="Jobs that wait in the queue now.")
    storage_bytes = serializers.IntegerField(help_text="Bytes stored now.")


BY_TYPE = "The most GPUs of single types that may be in use at a time, by type; a type that is not named: no limit."
GUARANTEE_BY_TYPE = (
    "GPUs of single types that are guaranteed, by type: a part of the guarantee, or all of it where that is null."
)
BORROW_LIMIT_BY_TYPE = (
    "The most GPUs of single types that may be borrowed above what is guaranteed of the type, by type; a type that is "
    "not named: no limit."
)
LEND_LIMIT_BY_TYPE = (
    "The most GPUs guaranteed of single types that others may borrow while they are unused, by type; a type that is "
    "not named: no limit."
)
MAX_CPUS = "The most CPUs that pods may request at a time; null: no limit."
MAX_MEMORY = "The most bytes of memory that pods may request at a time; null: no limit."
MAX_WAITING = "The most jobs that may wait in the queue; null: no limit but the installation's."
MAX_STORAGE = "The most bytes that may be stored, with all below it; each content counts once; null: no limit."
MAX_PRIORITY = "The highest priority that members may give their jobs; null: what holds above it, 50 if nothing does."
RULES = [
    "max_gpus", "gpus_by_type", "max_cpus", "max_memory_bytes", "max_running_jobs", "max_waiting_jobs",
    "max_storage_bytes", "guarantee", "guarantee_by_type", "borrow_limit", "borrow_limit_by_type",
    "lend_limit", "lend_limit_by_type", "reclaim", "weight", "shares_fairly", "half_life_s", "max_priority", "budgets",
]  # fmt: skip


class QuotaSerializer(serializers.ModelSerializer[Quota]):
    """null = no limit, and no guarantee. Guarantees and limits count GPUs.

    shares_fairly: what none of its parts is guaranteed goes to them by weight, whatever the policy. half_life_s: of
    their use, by which it is their turn; 0 = only what they hold now counts.
    """

    used = QuotaUsedSerializer(read_only=True, help_text="What of the limits is in use.")
    gpus_by_type = serializers.DictField(child=serializers.IntegerField(), read_only=True, help_text=BY_TYPE)
    guarantee_by_type = serializers.DictField(
        child=serializers.IntegerField(), read_only=True, help_text=GUARANTEE_BY_TYPE
    )
    borrow_limit_by_type = serializers.DictField(
        child=serializers.IntegerField(), read_only=True, help_text=BORROW_LIMIT_BY_TYPE
    )
    lend_limit_by_type = serializers.DictField(
        child=serializers.IntegerField(), read_only=True, help_text=LEND_LIMIT_BY_TYPE
    )
    boosted_gpus = serializers.IntegerField(
        read_only=True, help_text="GPUs that boosts add to max_gpus now; they are not part of it."
    )
    budgets = BudgetUseSerializer(
        many=True, read_only=True, help_text="Budgets of GPU-hours, and what of them is used."
    )
    overcommitted = OvercommitmentSerializer(many=True, read_only=True, help_text=OVERCOMMITTED)

    class Meta:
        model = Quota
        fields = [*RULES, "version", "used", "boosted_gpus", "overcommitted"]
        read_only_fields = fields
        extra_kwargs = described(
            max_gpus="The most GPUs that may be in use at a time, without boosts; null: no limit.",
            max_running_jobs="The most jobs that may run at a time; null: no limit.",
            max_cpus=MAX_CPUS,
            max_memory_bytes=MAX_MEMORY,
            max_waiting_jobs=MAX_WAITING,
            guarantee="GPUs that are guaranteed; null: none.",
            borrow_limit="The most GPUs that may be borrowed above the guarantee; null: no limit.",
            lend_limit="The most guaranteed GPUs that others may borrow while they are unused; null: no limit.",
            reclaim="From whom lent GPUs may be taken back by preemption.",
            weight="The share of unguaranteed GPUs, relative to siblings.",
            shares_fairly="Whether unguaranteed GPUs are shared by weight, whatever the policy.",
            half_life_s="The half-life of past use, in seconds; 0: only present use counts.",
            max_priority=MAX_PRIORITY,
            max_storage_bytes=MAX_STORAGE,
            version="The version of these settings, which rises with every change.",
        )


class QuotaRulesSerializer(StrictSerializer):
    """The rules to change; null lifts a limit or a guarantee."""

    max_gpus = serializers.IntegerField(
        min_value=0,
        max_value=MAX_COUNT,
        allow_null=True,
        required=False,
        help_text="The most GPUs that may be in use at a time; null: no limit.",
    )
    gpus_by_type = serializers.DictField(
        child=serializers.IntegerField(min_value=0, max_value=MAX_COUNT), required=False, help_text=BY_TYPE
    )
    guarantee_by_type = serializers.DictField(
        child=serializers.IntegerField(min_value=0, max_value=MAX_COUNT), required=False, help_text=GUARANTEE_BY_TYPE
    )
    borrow_limit_by_type = serializers.DictField(
        child=serializers.IntegerField(min_value=0, max_value=MAX_COUNT), required=False, help_text=BORROW_LIMIT_BY_TYPE
    )
    lend_limit_by_type = serializers.DictField(
        child=serializers.IntegerField(min_value=0, max_value=MAX_COUNT), required=False, help_text=LEND_LIMIT_BY_TYPE
    )
    max_cpus = serializers.IntegerField(
        min_value=0, max_value=MAX_COUNT, allow_null=True, required=False, help_text=MAX_CPUS
    )
    max_memory_bytes = serializers.IntegerField(
        min_value=0, max_value=MAX_BYTES, allow_null=True, required=False, help_text=MAX_MEMORY
    )
    max_running_jobs = serializers.IntegerField(
        min_value=0,
        max_value=MAX_COUNT,
        allow_null=True,
        required=False,
        help_text="The most jobs that may run at a time; null: no limit.",
    )
    guarantee = serializers.IntegerField(
        min_value=0,
        max_value=MAX_COUNT,
        allow_null=True,
        required=False,
        help_text="GPUs that are guaranteed; null: none.",
    )
    borrow_limit = serializers.IntegerField(
        min_value=0,
        max_value=MAX_COUNT,
        allow_null=True,
        required=False,
        help_text="The most GPUs that may be borrowed above the guarantee; null: no limit.",
    )
    lend_limit = serializers.IntegerField(
        min_value=0,
        max_value=MAX_COUNT,
        allow_null=True,
        required=False,
        help_text="The most guaranteed GPUs that others may borrow while they are unused; null: no limit.",
    )
    reclaim = serializers.ChoiceField(
        choices=QuotaRules.RECLAIM, required=False, help_text="From whom lent GPUs may be taken back by preemption."
    )
    weight = FiniteFloatField(
        min_value=0, max_value=1e9, required=False, help_text="The share of unguaranteed GPUs, relative to siblings."
    )
    shares_fairly = serializers.BooleanField(
        required=False, help_text="Whether unguaranteed GPUs are shared by weight, whatever the policy."
    )
    half_life_s = FiniteFloatField(
        min_value=0, max_value=MAX_HALF_LIFE_S, required=False, help_text="0: past use is no matter."
    )
    budgets = serializers.ListField(
        child=BudgetSerializer(),
        required=False,
        max_length=MOST_BUDGETS,
        help_text="Budgets of GPU-hours, all of them: those that are not named end. One for each period and GPU type.",
    )


class QuotaRulesChangeSerializer(QuotaRulesSerializer):
    """version: the one that was seen; 409 when it is stale."""

    max_waiting_jobs = serializers.IntegerField(
        min_value=0, max_value=MAX_COUNT, allow_null=True, required=False, help_text=MAX_WAITING
    )
    max_storage_bytes = serializers.IntegerField(
        min_value=0, max_value=MAX_BYTES, allow_null=True, required=False, help_text=MAX_STORAGE
    )
    max_priority = serializers.IntegerField(
        min_value=0, max_value=100, allow_null=True, required=False, help_text=MAX_PRIORITY
    )
    version = serializers.IntegerField(
        min_value=0,
        max_value=MAX_COUNT,
        required=False,
        help_text="The version that the caller saw; 409 when it is stale.",
    )


class QuotaVersionSerializer(serializers.Serializer[Any]):
    """A change of a quota."""

    version = serializers.IntegerField(help_text="The version that it made.")
    at = serializers.DateTimeField(help_text="When it was made.")
    actor = serializers.CharField(allow_null=True, help_text="Who made it; null: the platform itself.")
    before = serializers.DictField(help_text="The rules that it changed, as they were.")
    after = serializers.DictField(help_text="The rules that it changed, as they were from then on.")


class QuotaRestoreSerializer(StrictSerializer):
    """version: whose rules are restored, as a new version. seen: the present version, as the caller saw it."""

    version = serializers.IntegerField(
        min_value=1, max_value=MAX_COUNT, help_text="The version whose rules are restored, as a new version."
    )
    seen = serializers.IntegerField(
        min_value=1,
        max_value=MAX_COUNT,
        required=False,
        help_text="The present version, as the caller saw it; 409 when it is stale.",
    )


class TypeBooksSerializer(serializers.Serializer[Any]):
    """GPUs of one type, with all below."""

    guaranteed = serializers.IntegerField(help_text="GPUs of the type that are guaranteed.")
    used = serializers.IntegerField(help_text="GPUs of the type in use now.")
    borrowed = serializers.IntegerField(help_text="GPUs of the type in use above what is guaranteed of it.")
    lent = serializers.IntegerField(help_text="Guaranteed GPUs of the type that others use now.")


class QuotaOwnerSerializer(serializers.Serializer[Any]):
    """A node of the tree: its rules, and its books now, in GPUs, with all below it.

    guaranteed: guarantee, or the sum of those below if that is more. borrowed: used above it. lent: of it, in use by
    others. queued_gpus: what waiting jobs need at least.
    """

    kind = serializers.CharField(help_text="organisation, team or project.")
    id = serializers.UUIDField(help_text="The id of the organisation, team or project.")
    name = serializers.CharField(help_text="Its name.")
    above = serializers.UUIDField(allow_null=True, help_text="Whose part it is.")
    max_gpus = serializers.IntegerField(
        allow_null=True, help_text="The most GPUs that may be in use at a time; null: no limit."
    )
    max_running_jobs = serializers.IntegerField(
        allow_null=True, help_text="The most jobs that may run at a time; null: no limit."
    )
    gpus_by_type = serializers.DictField(child=serializers.IntegerField(), help_text=BY_TYPE)
    guarantee_by_type = serializers.DictField(child=serializers.IntegerField(), help_text=GUARANTEE_BY_TYPE)
    borrow_limit_by_type = serializers.DictField(child=serializers.IntegerField(), help_text=BORROW_LIMIT_BY_TYPE)
    lend_limit_by_type = serializers.DictField(child=serializers.IntegerField(), help_text=LEND_LIMIT_BY_TYPE)
    books_by_type = serializers.DictField(
        child=TypeBooksSerializer(),
        help_text="The books of types of which it is guaranteed any, borrows any that others are guaranteed, or may "
        "borrow only so many.",
    )
    max_cpus = serializers.IntegerField(allow_null=True, help_text=MAX_CPUS)
    max_memory_bytes = serializers.IntegerField(allow_null=True, help_text=MAX_MEMORY)
    max_waiting_jobs = serializers.IntegerField(allow_null=True, help_text=MAX_WAITING)
    max_storage_bytes = serializers.IntegerField(allow_null=True, help_text=MAX_STORAGE)
    guarantee = serializers.IntegerField(allow_null=True, help_text="GPUs that are guaranteed; null: none.")
    borrow_limit = serializers.IntegerField(
        allow_null=True, help_text="The most GPUs that may be borrowed above the guarantee; null: no limit."
    )
    lend_limit = serializers.IntegerField(
        allow_null=True,
        help_text="The most guaranteed GPUs that others may borrow while they are unused; null: no limit.",
    )
    reclaim = serializers.ChoiceField(
        choices=QuotaRules.RECLAIM, help_text="From whom lent GPUs may be taken back by preemption."
    )
    weight = serializers.FloatField(help_text="The share of unguaranteed GPUs, relative to siblings.")
    shares_fairly = serializers.BooleanField(
        help_text="Whether unguaranteed GPUs are shared by weight, whatever the policy."
    )
    half_life_s = serializers.FloatField(help_text="The half-life of past use, in seconds; 0: only present use counts.")
    max_priority = serializers.IntegerField(allow_null=True, help_text=MAX_PRIORITY)
    version = serializers.IntegerField(help_text="The version of these settings, which rises with every change.")
    guaranteed = serializers.IntegerField(
        help_text="GPUs guaranteed: the guarantee, or the sum of those below if that is more."
    )
    used = serializers.IntegerField(help_text="GPUs in use now.")
    borrowed = serializers.IntegerField(help_text="GPUs in use above what is guaranteed.")
    lent = serializers.IntegerField(help_text="Guaranteed GPUs that others use now.")
    budgets = BudgetUseSerializer(many=True, help_text="Budgets of GPU-hours, and what of them is used.")
    boosts = QuotaBoostSerializer(many=True, help_text="What is added to its rules for a time, and counts already.")
    boosts_to_come = QuotaBoostSerializer(
        many=True, help_text="What is added to its rules from a later time on; the one that begins first is at the top."
    )
    overcommitted = OvercommitmentSerializer(many=True, help_text=OVERCOMMITTED)
    used_by_type = serializers.DictField(child=serializers.IntegerField(), help_text="GPUs in use now, by type.")
    used_cpus = serializers.FloatField(help_text="CPUs that pods request now.")
    used_memory_bytes = serializers.IntegerField(help_text="Bytes of memory that pods request now.")
    running_jobs = serializers.IntegerField(help_text="Jobs that run now.")
    waiting_jobs = serializers.IntegerField(help_text="Jobs that wait in the queue now.")
    queued_gpus = serializers.IntegerField(help_text="GPUs that waiting jobs need at least.")
    storage_bytes = serializers.IntegerField(
        allow_null=True, help_text="Bytes stored now, where max_storage_bytes is set; else null."
    )


class QuotaTreeSerializer(serializers.Serializer[Any]):
    """Parents before children. may_edit: the caller may change quotas of all teams and projects."""

    may_edit = serializers.BooleanField(help_text="Whether the caller may change quotas of all teams and projects.")
    editable = serializers.ListField(
        child=serializers.UUIDField(),
        required=False,
        help_text="The ids of the teams and projects whose quotas the caller may change.",
    )
    owners = QuotaOwnerSerializer(
        many=True, help_text="The organisation, its teams and projects; parents before children."
    )
