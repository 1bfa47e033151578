# SPDX-License-Identifier: Apache-2.0
"""The JSON of speeds, and of what pods send."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from mlhub.core.api.described import described
from mlhub.core.api.strict import StrictSerializer
from mlhub.core.languages.catalogue import in_readers_language
from mlhub.metrics.measurements.worker_steps import StepTimeBreakdown
from mlhub.metrics.models import PairSample, RefusedMeasurement, SpeedSample
from mlhub.wire.measurements import MEASUREMENTS, MeasurementUnit, known
from mlhub.wire.report import LOG, MAX_BATCH_LINES, MAX_CACHED_INPUTS, REPORTS, USAGE

MAX_SEQ = 2**63 - 1
MAX_PODS = 100_000

UNITS = [(u.value, u.value) for u in MeasurementUnit]


class MeasuredValueSerializer(serializers.Serializer[None]):
    """A value that the job's pods measured, with what a page says about it."""

    name = serializers.CharField(help_text="The name under which pods report it.")
    title = serializers.CharField(help_text="What people call it.")
    unit = serializers.ChoiceField(choices=UNITS, help_text="A share: 0 to 1.")
    about = serializers.CharField(help_text="What it means, in a sentence.")
    value = serializers.FloatField(help_text="The newest value.")


class SpeedSerializer(serializers.ModelSerializer[SpeedSample]):
    """wait_s is a part of sync_s. staleness[s]: pushes used s versions late, over all servers; the last: or more."""

    attempt_number = serializers.IntegerField(source="attempt.number", help_text="The attempt's number.")
    measured = serializers.SerializerMethodField(help_text="What else the pods measured, in the order of the page.")
    staleness = serializers.SerializerMethodField(
        help_text="Pushes by the number of versions that they were late; the last entry counts that many or more."
    )
    n_discarded = serializers.SerializerMethodField(help_text="Pushes that were discarded.")

    class Meta:
        model = SpeedSample
        fields = [
            "attempt_number", "mode", "n_workers", "n_servers", "n_nodes", "n_racks", "gpu_type", "batch_size",
            "step_s", "compute_s", "sync_s", "input_s", "wait_s", "n_steps", "is_shared", "n_colocated_steps",
            "updated_at", "measured", "staleness", "n_discarded",
        ]  # fmt: skip
        read_only_fields = fields
        extra_kwargs = described(
            mode="How workers exchange gradients: all_reduce or parameter_server.",
            n_workers="The number of workers.",
            n_servers="The number of parameter servers.",
            n_nodes="The number of nodes.",
            n_racks="The number of racks.",
            gpu_type="The type of GPU.",
            batch_size="The global batch size, in examples.",
            step_s="The mean time of a step, in seconds.",
            compute_s="Of it: computation.",
            sync_s="Of it: synchronisation.",
            input_s="Of it: waiting for input.",
            wait_s="Of sync_s: waiting for other workers.",
            n_steps="The number of steps that were measured.",
            is_shared="Whether other gangs used its nodes or links all the time.",
            n_colocated_steps="Steps on GPUs that another job held, too; they are not in the means.",
            updated_at="When it was measured last.",
            bytes_sent="Bytes that rank 0 sends in a step.",
            bytes_received="Bytes that rank 0 receives in a step.",
            peak_memory_bytes="Peak memory of a worker, in bytes.",
            noise_scale="The gradient noise scale, in examples; null: not measured.",
            gpu_utilisation="GPU utilisation, 0 to 1; null: not measured.",
            gpu_memory_bytes="GPU memory in use; null: not measured.",
        )

    @extend_schema_field(MeasuredValueSerializer(many=True))
    def get_measured(self, sample: SpeedSample) -> list[dict[str, Any]]:
        values = known(sample.measured)
        return [
            {
                "name": name,
                "title": in_readers_language(m.title),
                "unit": m.unit,
                "about": in_readers_language(m.about),
                "value": values[name],
            }
            for name, m in MEASUREMENTS.items()
            if name in values
        ]

    def get_staleness(self, sample: SpeedSample) -> list[int]:
        each = [shard.counts for shard in sample.attempt.staleness.all()]
        return [sum(counts) for counts in zip_longest(*each, fillvalue=0)]

    def get_n_discarded(self, sample: SpeedSample) -> int:
        return sum(shard.n_discarded for shard in sample.attempt.staleness.all())


class RefusedMeasurementSerializer(serializers.ModelSerializer[RefusedMeasurement]):
    """A value that cannot be true: nothing is learnt or decided from it."""

    attempt_number = serializers.IntegerField(source="attempt.number", help_text="The attempt's number.")

    class Meta:
        model = RefusedMeasurement
        fields = ["attempt_number", "field", "value", "reason", "n", "at"]
        read_only_fields = fields
        extra_kwargs = described(
            field="What was reported.",
            value="The newest such value.",
            reason="Why it cannot be true.",
            n="How often such a value came.",
            at="When the newest came.",
        )


class SlowdownSerializer(serializers.ModelSerializer[PairSample]):
    """How much slower an attempt was while exactly one other gang used the same resource."""

    attempt_number = serializers.IntegerField(source="attempt.number", help_text="The attempt's number.")
    other = serializers.SerializerMethodField(
        help_text="Model and dataset of the other job; empty where it is not yours to see."
    )
    error = serializers.SerializerMethodField(help_text="The standard error of slowdown; null while that is unknown.")

    class Meta:
        model = PairSample
        fields = [
            "attempt_number", "other", "resource", "gpu_type", "step_s", "alone_s", "slowdown", "error", "n_steps", "at"
        ]  # fmt: skip
        read_only_fields = fields
        extra_kwargs = described(
            resource="What both used: the same gpu, nic, node or uplink.",
            gpu_type="The type of GPU.",
            step_s="The mean time of a step with the other one, in seconds.",
            alone_s="The mean time of a step without it, in seconds; null while it is unknown.",
            slowdown="step_s divided by alone_s; null while that is unknown.",
            n_steps="The number of steps that were measured with the other one.",
            at="When it was measured last.",
        )

    def get_other(self, pair: PairSample) -> str:
        found: str = self.context["labels"].get(pair.other_family, "")
        return found

    @extend_schema_field(serializers.FloatField(allow_null=True))
    def get_error(self, pair: PairSample) -> float | None:
        return None if not pair.alone_s else (pair.variance / max(1, pair.n_reports)) ** 0.5 / pair.alone_s


class StepTimeBreakdownSerializer(serializers.Serializer[StepTimeBreakdown]):
    """What one worker's newest steps are made of, in seconds a step. wait_s is a part of sync_s."""

    worker = serializers.IntegerField(source="steps.worker", help_text="Its rank.")
    node = serializers.CharField(help_text="The node it runs on.")
    step = serializers.IntegerField(source="steps.step", help_text="How many steps were done at that time.")
    n_steps = serializers.IntegerField(source="steps.n_steps", help_text="Over how many steps the means go.")
    step_s = serializers.FloatField(source="steps.step_s", help_text="The mean time of a step, in seconds.")
    input_s = serializers.FloatField(source="steps.input_s", help_text="Of it: waiting for input.")
    compute_s = serializers.FloatField(source="steps.compute_s", help_text="Of it: computation.")
    sync_s = serializers.FloatField(source="steps.sync_s", help_text="Of it: synchronisation.")
    wait_s = serializers.FloatField(source="steps.wait_s", help_text="Of sync_s: waiting for other workers.")
    at = serializers.DateTimeField(source="steps.at", help_text="When it was measured.")
    slowdown = serializers.FloatField(
        help_text="Its input and computation divided by the median of the other workers; 1: like them."
    )
    is_straggler = serializers.BooleanField(help_text="Whether it is so much slower that the others wait for it.")


class SpeedsSerializer(serializers.Serializer[Any]):
    """What each attempt measured of itself: mean step times, split into their parts (seconds), and the rest."""

    samples = SpeedSerializer(many=True, help_text="The measurements of each attempt.")
    slowdowns = SlowdownSerializer(many=True, help_text="How much other jobs slowed it, by what they shared.")
    refused = RefusedMeasurementSerializer(many=True, help_text="What was reported and cannot be true.")
    workers = StepTimeBreakdownSerializer(
        many=True, help_text="Each worker of the newest attempt, where it has several; without those yet to report."
    )


class ParsedField(serializers.JSONField):
    """Any JSON, of a body that was parsed and checked: DRF's own writes each value as JSON once more to see whether it
    can be."""

    def to_internal_value(self, data: Any) -> Any:
        return data


class LinesSerializer(StrictSerializer):
    """A batch of one stream of one pod (mlhub/wire/report.py)."""

    version = serializers.ChoiceField(choices=[1], help_text="The version of the protocol.")
    role = serializers.ChoiceField(choices=["worker", "server"], help_text="The role of the pod that sends.")
    index = serializers.IntegerField(min_value=0, max_value=MAX_PODS, help_text="The pod's index within its role.")
    stream = serializers.ChoiceField(choices=[REPORTS, LOG, USAGE], help_text="The stream: reports, log or usage.")
    first = serializers.IntegerField(min_value=0, max_value=MAX_SEQ, help_text="The number of the first line.")
    lines = serializers.ListField(
        child=ParsedField(),
        max_length=MAX_BATCH_LINES,
        help_text="The lines: JSON objects of reports and usage, text of the log.",
    )


class CachedInputsSerializer(StrictSerializer):
    """Inputs that a volume of a project has."""

    sha256s = serializers.ListField(
        child=serializers.RegexField(r"\A[0-9a-f]{64}\Z", max_length=64),
        max_length=MAX_CACHED_INPUTS,
        help_text="Hashes of inputs.",
    )


class BatchDecisionSerializer(serializers.Serializer[Any]):
    """The batch that the trainer is to use from its next epoch or checkpoint on."""

    batch_size = serializers.IntegerField(help_text="The global batch size, in examples.")
    noise_scale = serializers.FloatField(
        allow_null=True, help_text="The gradient noise scale by which the learning rate is scaled, in examples."
    )
    reason = serializers.CharField(help_text="Why the scheduler changed it; empty where it did not.")


class ProfileToRecordSerializer(serializers.Serializer[Any]):
    """A recording that this pod is to make (mlhub/wire/profiles.py)."""

    id = serializers.CharField(help_text="The recording's id.")
    steps = serializers.IntegerField(help_text="How many steps to record.")
    ranks = serializers.ListField(child=serializers.IntegerField(), help_text="The workers that record.")
    servers = serializers.ListField(
        child=serializers.IntegerField(), required=False, help_text="The parameter servers that record."
    )
    first_step = serializers.IntegerField(
        allow_null=True, help_text="The step from which to record; null: the next one."
    )


class NextSerializer(serializers.Serializer[Any]):
    next = serializers.IntegerField(help_text="The number of the line that is wanted next.")
    batch = BatchDecisionSerializer(
        required=False, help_text="To worker 0 of a job whose batch may change: the scheduler's newest decision."
    )
    profile = ProfileToRecordSerializer(
        required=False, help_text="To a worker of which a profile is wanted, until it has answered."
    )
