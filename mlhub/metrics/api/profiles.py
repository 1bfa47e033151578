# SPDX-License-Identifier: Apache-2.0
"""Recordings of torch's profiler over REST: ask for one, look at its summary, take its traces away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.response import Response

from mlhub.core.api.strict import StrictSerializer
from mlhub.core.api.views import AnyAccept, read_body
from mlhub.core.errors import NotFoundError
from mlhub.jobs.api.parts import JobPartView
from mlhub.metrics.models import ProfileRecording, ProfileTrace, RecordingState
from mlhub.metrics.profiling import profiles
from mlhub.storage.downloads import blob_response
from mlhub.tenants.sign_in.authentication import caller
from mlhub.wire.profiles import MAX_RANKS, MAX_STEPS, SERVER, WORKER

if TYPE_CHECKING:
    from rest_framework.request import Request

MAX_RANK = 100_000
STATES = RecordingState.choices


class ProfileAskSerializer(StrictSerializer):
    """What to record."""

    steps = serializers.IntegerField(
        min_value=1,
        max_value=MAX_STEPS,
        required=False,
        default=5,
        help_text="How many steps; fewer are recorded where an evaluation or the end comes before.",
    )
    ranks = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=MAX_RANK),
        max_length=MAX_RANKS,
        required=False,
        help_text="The workers to record, by rank; 0 where neither these nor servers are named.",
    )
    servers = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=MAX_RANK),
        max_length=MAX_RANKS,
        required=False,
        default=list,
        help_text="The parameter servers to record, by index. A step of theirs is an update of the weights.",
    )

    def validate_ranks(self, ranks: list[int]) -> list[int]:
        return _each_once(ranks, "rank")

    def validate_servers(self, servers: list[int]) -> list[int]:
        return _each_once(servers, "server")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        ranks = attrs.setdefault("ranks", [] if attrs["servers"] else [0])
        if not ranks and not attrs["servers"]:
            raise serializers.ValidationError({"ranks": "Name a worker, or a parameter server under servers."})
        if len(ranks) + len(attrs["servers"]) > MAX_RANKS:
            raise serializers.ValidationError({"servers": f"Name at most {MAX_RANKS} workers and servers together."})
        return attrs


def _each_once(indices: list[int], what: str) -> list[int]:
    if len(set(indices)) < len(indices):
        raise serializers.ValidationError(f"A {what} is named twice: name each once.")
    return sorted(indices)


class ProfilePartsSerializer(serializers.Serializer[Any]):
    """What the recorded steps consisted of: seconds of all of them together."""

    input = serializers.FloatField(help_text="Waiting for examples to be read.")
    compute = serializers.FloatField(help_text="Computing.")
    sync = serializers.FloatField(help_text="Exchanging with other workers or servers, without the waiting.")
    wait = serializers.FloatField(help_text="Waiting for others before an exchange; 0 where it was not measured.")


class ProfileOperatorSerializer(serializers.Serializer[Any]):
    """An operator of torch, over all its calls in the recorded steps."""

    name = serializers.CharField(help_text="The operator, as torch calls it.")
    calls = serializers.IntegerField(help_text="How often it was called.")
    self_cpu_s = serializers.FloatField(help_text="Seconds on CPUs, without what it called.")
    cpu_s = serializers.FloatField(help_text="Seconds on CPUs, with what it called.")
    device_s = serializers.FloatField(help_text="Seconds on the GPU of what it launched.")
    self_memory_bytes = serializers.IntegerField(help_text="Memory that it took, less what it gave back.")


class ProfileTraceSerializer(serializers.Serializer[Any]):
    """What one worker or parameter server recorded."""

    role = serializers.ChoiceField(
        choices=[(WORKER, WORKER), (SERVER, SERVER)],
        help_text="worker: torch's profiler; server: what the threads of a parameter server did.",
    )
    rank = serializers.IntegerField(help_text="The worker's rank, or the server's index.")
    state = serializers.ChoiceField(choices=STATES, help_text="Where it stands.")
    reason = serializers.CharField(help_text="Why it failed; else empty.")
    note = serializers.CharField(help_text="Why it has fewer steps than were asked for; else empty.")
    first_step = serializers.IntegerField(
        allow_null=True, help_text="How many steps were made before the first recorded one; null: not known."
    )
    n_steps = serializers.IntegerField(help_text="How many steps were recorded.")
    size_bytes = serializers.SerializerMethodField(help_text="The size of its trace in gzip; null: there is none.")
    n_events = serializers.SerializerMethodField(help_text="How many events are in its trace.")
    n_left_out = serializers.SerializerMethodField(help_text="How many of the shortest events are not in it.")

    def get_size_bytes(self, trace: ProfileTrace) -> int | None:
        return None if trace.artifact is None else int(trace.artifact.blob.size_bytes)

    def get_n_events(self, trace: ProfileTrace) -> int:
        return int(trace.summary.get("n_events", 0))

    def get_n_left_out(self, trace: ProfileTrace) -> int:
        return int(trace.summary.get("n_left_out", 0))


class ProfileTraceDetailSerializer(ProfileTraceSerializer):
    """What one pod recorded, in short."""

    step_s = ProfilePartsSerializer(
        source="summary.step_s",
        default=None,
        allow_null=True,
        help_text="What the steps consisted of; null: not known.",
    )
    operators = ProfileOperatorSerializer(
        source="summary.operators",
        many=True,
        default=list,
        help_text="The dearest operators, the dearest first; of a server, its phases, with seconds that passed.",
    )
    n_operators = serializers.SerializerMethodField(help_text="How many operators there are in all.")

    def get_n_operators(self, trace: ProfileTrace) -> int:
        return int(trace.summary.get("n_operators", 0))


class ProfileSerializer(serializers.Serializer[Any]):
    """A recording of torch's profiler."""

    id = serializers.UUIDField(help_text="The recording's id.")
    attempt_number = serializers.IntegerField(source="attempt.number", help_text="The attempt that is recorded.")
    steps = serializers.IntegerField(help_text="How many steps were asked for.")
    state = serializers.ChoiceField(choices=STATES, help_text="done: at least one pod has recorded.")
    reason = serializers.CharField(help_text="Why there is no trace; else empty.")
    requested_by = serializers.SerializerMethodField(help_text="Who asked for it; null: the account is gone.")
    requested_at = serializers.DateTimeField(help_text="When it was asked for.")
    ended_at = serializers.DateTimeField(allow_null=True, help_text="When every pod had answered; null: not yet.")
    traces = serializers.SerializerMethodField(help_text="What each worker recorded, by rank, then each server.")

    def get_requested_by(self, recording: ProfileRecording) -> str | None:
        return None if recording.requested_by is None else recording.requested_by.username

    @extend_schema_field(ProfileTraceSerializer(many=True))
    def get_traces(self, recording: ProfileRecording) -> Any:
        return ProfileTraceSerializer(_traces(recording), many=True).data


class ProfileDetailSerializer(ProfileSerializer):
    """A recording of torch's profiler, with the dearest operators of each worker."""

    @extend_schema_field(ProfileTraceDetailSerializer(many=True))
    def get_traces(self, recording: ProfileRecording) -> Any:
        return ProfileTraceDetailSerializer(_traces(recording), many=True).data


def _traces(recording: ProfileRecording) -> list[ProfileTrace]:
    return sorted(recording.traces.all(), key=lambda trace: (trace.role != WORKER, trace.rank))


class ProfilesView(JobPartView):
    @extend_schema(responses=ProfileSerializer(many=True), filters=False)
    def get(self, request: Request, **_: Any) -> Response:
        """The recordings of the job, the newest first, at most 20."""
        return Response(ProfileSerializer(profiles.recordings_of(self.job(request)), many=True).data)

    @extend_schema(request=ProfileAskSerializer, responses={201: ProfileDetailSerializer})
    def post(self, request: Request, **_: Any) -> Response:
        """Asks the pods of a job that runs to record. 409 when it does not run, or is being recorded."""
        body = read_body(ProfileAskSerializer, request)
        recording = profiles.request_recording(self.job(request), actor=caller(request), **body)
        return Response(ProfileDetailSerializer(recording).data, status=status.HTTP_201_CREATED)


class ProfileView(JobPartView):
    @extend_schema(responses=ProfileDetailSerializer)
    def get(self, request: Request, **_: Any) -> Response:
        """A recording, with the dearest operators of each pod and what its steps consisted of."""
        return Response(ProfileDetailSerializer(self._recording(request)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, **_: Any) -> Response:
        """Deletes a recording with its traces; one that is under way is given up."""
        profiles.delete_recording(self._recording(request), actor=caller(request))
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _recording(self, request: Request) -> ProfileRecording:
        return profiles.recording_of(self.job(request), self.kwargs["profile"])


class ProfileTraceView(JobPartView):
    content_negotiation_class = AnyAccept
    role = WORKER

    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, profile: Any, rank: int, **_: Any) -> HttpResponseBase:
        """The trace of a worker: Chrome trace events as JSON in gzip, which Perfetto opens."""
        job = self.job(request)
        recording = profiles.recording_of(job, profile)
        trace = recording.traces.select_related("artifact__blob").filter(role=self.role, rank=rank).first()
        if trace is None or trace.artifact is None:
            raise NotFoundError(f"There is no trace of {self.role} {rank} in this profile.")
        filename = f"{job.name}.{self.role}-{rank}.trace.json.gz"
        return blob_response(request._request, trace.artifact.blob, filename=filename)


class ProfileServerTraceView(ProfileTraceView):
    role = SERVER

    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    def get(self, request: Request, profile: Any, rank: int, **named: Any) -> HttpResponseBase:
        """The trace of a parameter server, in the same format: a track of its updates, and one for each worker."""
        return super().get(request, profile, rank, **named)
