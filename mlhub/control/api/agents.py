# SPDX-License-Identifier: Apache-2.0
"""Agents: for administrators, who make and remove them, and for the agents themselves, each with its own token."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import exceptions, serializers, status
from rest_framework.response import Response
from rest_framework.views import APIView

from mlhub._version import __version__
from mlhub.backends.agents.messages import (
    GRACE_PART,
    LEASE_PART,
    MAX_INSTANCE,
    MOST_HASHES,
    MOST_PROJECTS,
    REPORT_PART,
    AgentReport,
)
from mlhub.clusters.models import Agent
from mlhub.control.agents import actions
from mlhub.control.agents.deleted_caches import deleted_caches
from mlhub.control.agents.orders import orders_for, state_of
from mlhub.control.agents.rows import topic_of
from mlhub.control.agents.status import AgentState, agent_state
from mlhub.control.observation.node_failures import readmit
from mlhub.core.api.fields import TranslatedField
from mlhub.core.api.parsers import PodJSONParser
from mlhub.core.api.strict import FiniteFloatField, StrictSerializer
from mlhub.core.api.views import read_body
from mlhub.core.errors import InvalidInputError
from mlhub.events import sse
from mlhub.events.hub import hub
from mlhub.tenants.access_control.permissions import IsPlatformAdministrator
from mlhub.tenants.sign_in.authentication import caller

if TYPE_CHECKING:
    from uuid import UUID

    from rest_framework.request import Request

MOST_WAIT_S = 25.0  # below what proxies allow a request that is silent
LOOK_EVERY_S = 10.0  # each change of orders and tokens wakes who waits; this is for a wake-up that was lost
MOST_GANGS = 10_000  # of one machine


class AgentSerializer(serializers.ModelSerializer[Agent]):
    """One agent; its node, when it has reported, is in the cluster under the same name."""

    made_by = serializers.CharField(
        source="made_by.username", default=None, allow_null=True, read_only=True, help_text="Who made its token."
    )
    state = serializers.SerializerMethodField(
        help_text="expected: no agent has reported with its present token; connected; closed: it reports, and no job "
        "may start there; silent: it gets no new jobs; lost: its jobs go on elsewhere."
    )
    problem = TranslatedField(read_only=True, help_text="Why no job may start there; empty: none.")

    class Meta:
        model = Agent
        fields = ["name", "is_own", "state", "token_made_at", "made_by", "seen_at", "address", "version", "problem"]
        read_only_fields = fields
        extra_kwargs = {
            "name": {"help_text": "The name of the agent and of its node."},
            "is_own": {"help_text": "Whether it is the agent of the platform's own machine."},
            "token_made_at": {"help_text": "When its present token was made."},
            "seen_at": {"help_text": "When it reported last; null: never."},
            "address": {"help_text": "Where its pods listen for those of other machines."},
            "version": {"help_text": "Its version of MLHub."},
        }

    @extend_schema_field(serializers.ChoiceField(choices=[state.value for state in AgentState]))
    def get_state(self, agent: Agent) -> str:
        return agent_state(agent, now=timezone.now(), lost_after_s=settings.AGENT_LOST_S).value


class AgentsSerializer(serializers.Serializer[Any]):
    """Agents by name."""

    results = AgentSerializer(many=True, help_text="The agents.")
    version = serializers.CharField(help_text="The platform's version of MLHub, which agents must have.")
    takeover_s = serializers.FloatField(
        help_text="An agent that ends and starts again within so many seconds takes over what runs on its machine."
    )
    ends_within_s = serializers.FloatField(
        help_text="What runs on a machine whose agent is removed ends within so many seconds; from the removal on, the "
        "platform takes nothing from it."
    )


class AgentWriteSerializer(StrictSerializer):
    name = serializers.CharField(max_length=63, help_text="The name that the machine shall have as a node.")
    must_be_new = serializers.BooleanField(
        required=False, default=False, help_text="Whether to refuse where there is such an agent; by default false."
    )


class AgentTokenSerializer(serializers.Serializer[Any]):
    """An agent with its new token."""

    agent = AgentSerializer(help_text="The agent.")
    token = serializers.CharField(help_text="Its token, shown this once.")


class AgentReportSerializer(StrictSerializer):
    """The fields of mlhub/backends/agents/messages.py: AgentReport."""

    protocol = serializers.IntegerField(min_value=0, max_value=1000, help_text="The protocol that it speaks.")
    version = serializers.CharField(max_length=100, help_text="Its version of MLHub.")
    python = serializers.CharField(max_length=100, help_text="Its version of Python, and the kind of its processor.")
    now = FiniteFloatField(min_value=0, max_value=1e11, help_text="The time by its clock, in seconds since 1970.")
    address = serializers.CharField(
        max_length=255, allow_blank=True, help_text="Where its pods listen; empty: where the request comes from."
    )
    node = serializers.DictField(help_text="The machine as a node.")
    problem = serializers.CharField(
        allow_blank=True, max_length=2000, help_text="Why no pod may start there; empty: none."
    )
    gangs = serializers.ListField(
        child=serializers.DictField(), max_length=MOST_GANGS, help_text="What became of each gang there."
    )
    instance = serializers.CharField(
        max_length=MAX_INSTANCE, allow_blank=True, help_text="Differs between any two agents that run at a time."
    )


class OrdersSerializer(serializers.Serializer[Any]):
    """What the agent is to do, as mlhub/backends/agents/messages.py: Orders."""

    protocol = serializers.IntegerField(help_text="The protocol that the platform speaks.")
    name = serializers.CharField(help_text="The agent's name.")
    state = serializers.CharField(help_text="Changes whenever the orders do.")
    lost_after_s = serializers.FloatField(help_text="After how long a silence the agent counts as lost.")
    public_url = serializers.CharField(help_text="The platform's address in what pods are given.")
    checkpoints = serializers.DictField(help_text="The folder that all machines share, and how it is known.")
    gangs = serializers.ListField(child=serializers.DictField(), help_text="All that is to be on the machine.")


class HeldInputsSerializer(StrictSerializer):
    project = serializers.UUIDField(help_text="The project.")
    sha256s = serializers.ListField(
        child=serializers.RegexField(r"\A[0-9a-f]{64}\Z", max_length=64),
        max_length=MOST_HASHES,
        help_text="Hashes of inputs.",
    )


class HeldCachesSerializer(StrictSerializer):
    """What a machine's caches hold: all its projects, and inputs of some of them."""

    instance = serializers.CharField(max_length=MAX_INSTANCE, help_text="Of the agent, as in its reports.")
    projects = serializers.ListField(
        child=serializers.UUIDField(), max_length=MOST_PROJECTS, help_text="The projects that have a cache there."
    )
    inputs = serializers.ListField(
        child=HeldInputsSerializer(), max_length=MOST_PROJECTS, help_text="What of them is asked about."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if sum(len(one["sha256s"]) for one in attrs["inputs"]) > MOST_HASHES:
            raise serializers.ValidationError({"inputs": f"Give {MOST_HASHES} hashes at most, and the rest later."})
        if {one["project"] for one in attrs["inputs"]} - set(attrs["projects"]):
            raise serializers.ValidationError({"inputs": "Each of their projects must be among `projects`."})
        return attrs


class DeletedCachesSerializer(serializers.Serializer[Any]):
    """Of what was named, what the machine is to remove."""

    projects = serializers.ListField(
        child=serializers.UUIDField(), help_text="Projects that are gone, or of which no job was on the machine."
    )
    inputs = HeldInputsSerializer(many=True, help_text="Inputs that their projects no longer refer to.")


class NewsSerializer(serializers.Serializer[Any]):
    """Whether there are new orders."""

    state = serializers.CharField(help_text="The state of the agent's orders.")


class AgentsView(APIView):
    permission_classes = [IsPlatformAdministrator]

    @extend_schema(responses=AgentsSerializer)
    def get(self, request: Request) -> Response:  # noqa: ARG002 (DRF's signature)
        """The machines with an agent, for platform administrators."""
        agents = Agent.objects.select_related("made_by").order_by("name")
        found = {
            "results": agents,
            "version": __version__,
            "takeover_s": (LEASE_PART - REPORT_PART) * settings.AGENT_LOST_S,
            "ends_within_s": (LEASE_PART + GRACE_PART) * settings.AGENT_LOST_S,
        }
        return Response(AgentsSerializer(found).data)

    @extend_schema(request=AgentWriteSerializer, responses={201: AgentTokenSerializer})
    def post(self, request: Request) -> Response:
        """Makes an agent with its token, which is shown this once; of an agent that is there, a token in place of its
        present one. Platform administrators only."""
        body = read_body(AgentWriteSerializer, request)
        agent, token = actions.make_token(body["name"], actor=caller(request), must_be_new=body["must_be_new"])
        made = AgentTokenSerializer({"agent": agent, "token": token})
        return Response(made.data, status=status.HTTP_201_CREATED)


class AgentView(APIView):
    permission_classes = [IsPlatformAdministrator]

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        """Removes an agent with its token and node; what runs there is ended, and counts as lost. Platform
        administrators only."""
        with transaction.atomic():
            actions.remove_agent(name, actor=caller(request))
            readmit(name, now=timezone.now())  # a machine that joins by this name later is another one
        return Response(status=status.HTTP_204_NO_CONTENT)


class AgentSyncView(APIView):
    """Open to agents, each with its own token, which opens nothing else."""

    authentication_classes = []
    permission_classes = []
    throttle_classes = []
    parser_classes = [PodJSONParser]

    @extend_schema(request=AgentReportSerializer, responses=OrdersSerializer)
    def post(self, request: Request) -> Response:
        """Takes an agent's report, and answers with all that is to be on its machine: with the secrets of its own pods
        that have not launched yet, and of no others."""
        agent = _agent_of(request._request)
        body = read_body(AgentReportSerializer, request)
        try:
            report = AgentReport.from_json(body)
        except ValueError as error:
            raise InvalidInputError(f"{error}.", field="report", remedy="Install the platform's version.") from error
        now = timezone.now()
        with transaction.atomic():
            actions.store_report(agent, report, came_from=request.META.get("REMOTE_ADDR", ""), now=now)
        return Response(orders_for(agent, now=now).to_json())

    def get_authenticate_header(self, request: Request) -> str:  # noqa: ARG002 (DRF's signature)
        return "Bearer"


class AgentCachesView(APIView):
    """Open to agents, each with its own token."""

    authentication_classes = []
    permission_classes = []
    throttle_classes = []
    parser_classes = [PodJSONParser]

    @extend_schema(request=HeldCachesSerializer, responses=DeletedCachesSerializer)
    def post(self, request: Request) -> Response:
        """Takes what an agent's machine has cached, and answers which of that was deleted and is to be removed there.
        For agents alone."""
        agent = _agent_of(request._request)
        now = timezone.now()  # before anything is read
        body = read_body(HeldCachesSerializer, request)
        inputs: dict[UUID, set[str]] = {}
        for one in body["inputs"]:
            inputs.setdefault(one["project"], set()).update(one["sha256s"])
        with transaction.atomic():
            found = deleted_caches(
                agent, instance=body["instance"], projects=set(body["projects"]), inputs=inputs, now=now
            )
        return Response(found.to_json())

    def get_authenticate_header(self, request: Request) -> str:  # noqa: ARG002 (DRF's signature)
        return "Bearer"


class AgentNewsView(sse.EventStreamView):
    """A request that is answered when there are new orders: agents need not be reached from outside."""

    @extend_schema(
        parameters=[OpenApiParameter("state", str, description="The state of the orders that the agent knows.")],
        responses=NewsSerializer,
    )
    async def get(self, request: HttpRequest) -> HttpResponseBase:
        """Waits until the agent's orders differ from those that it knows, for 25 s at most. For agents alone."""
        agent = await hub().read(lambda: _agent_of(request))
        known, until = request.GET.get("state", ""), time.monotonic() + MOST_WAIT_S
        async with hub().listen(topic_of(agent)) as listener:
            await listener.begin()
            while True:
                state = await hub().read(_reading(request))
                left_s = until - time.monotonic()
                if state != known or left_s <= 0:
                    return JsonResponse({"state": state})
                await listener.wait(min(left_s, LOOK_EVERY_S))


def _reading(request: HttpRequest) -> Callable[[], str]:
    """The state of the agent's orders. Its token is looked at anew: it may have been revoked."""
    return lambda: state_of(_agent_of(request))


def _agent_of(request: HttpRequest) -> Agent:
    """Raises AuthenticationFailed."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    agent = actions.agent_of(token) if scheme.lower() == "bearer" else None
    if agent is None:
        raise exceptions.AuthenticationFailed("The token is no agent's, or was revoked.")
    return agent
