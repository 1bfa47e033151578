# SPDX-License-Identifier: Apache-2.0
"""GET /metrics: the platform's figures for Prometheus, read from the database when they are asked for.

Counters count rows, so all replicas of the web server report the same; they shrink only when projects are deleted.
Labels are few: no job and no user is named.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, DurationField, ExpressionWrapper, F, Q, Sum
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from mlhub.backends.protocol import ItemKind
from mlhub.clusters.models import CacheUse, Node
from mlhub.control.models import NodeExclusion, QuarantineRecord, Round
from mlhub.control.monitoring.round_health import round_health
from mlhub.core.web.addresses import client_address
from mlhub.jobs.models import Attempt, Job
from mlhub.jobs.states import HOLDING_GPUS, JobState

MetricFamily = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily
BUCKETS_S = (10, 30, 60, 300, 900, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600)
LOCAL = ("127.0.0.1", "::1")


def metrics(request: HttpRequest) -> HttpResponse:
    """Needs `Authorization: Bearer $MLHUB_METRICS_TOKEN`; where no token is set, only this machine may ask."""
    if not _may_ask(request):
        return HttpResponse("Set MLHUB_METRICS_TOKEN, and send it as a bearer token.\n", status=403)
    registry = CollectorRegistry()
    registry.register(PlatformCollector())
    return HttpResponse(
        generate_latest(registry), content_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"}
    )


def _may_ask(request: HttpRequest) -> bool:
    token: str = settings.METRICS_TOKEN
    if not token:
        # a proxy on this machine asks for others
        return client_address(request) in LOCAL and "X-Forwarded-For" not in request.headers
    given = request.headers.get("Authorization", "")
    return hmac.compare_digest(given.encode(), f"Bearer {token}".encode())


class PlatformCollector(Collector):
    def collect(self) -> Iterator[MetricFamily]:
        yield from _jobs()
        yield from _gpus()
        yield from _ended()
        yield from _rounds()
        yield _quarantined()
        yield _excluded_nodes()
        yield from _input_caches()

    def describe(self) -> Iterable[MetricFamily]:
        """Nothing beforehand: a registration is to ask no database."""
        return ()


def _jobs() -> Iterator[MetricFamily]:
    family = GaugeMetricFamily("mlhub_jobs", "Jobs by state.", labels=["state"])
    counts = dict(Job.objects.values_list("state").annotate(n=Count("id")).order_by())
    for state in JobState:
        family.add_metric([state.value], counts.get(state.value, 0))
    yield family
    waiting = GaugeMetricFamily("mlhub_waiting_jobs", "Queued jobs by the most binding reason.", labels=["reason"])
    for reason, n in Job.objects.queued().values_list("reason").annotate(n=Count("id")).order_by("reason"):
        waiting.add_metric([reason], n)
    yield waiting


def _gpus() -> Iterator[MetricFamily]:
    usable = Q(is_ready=True, is_schedulable=True)
    there = GaugeMetricFamily("mlhub_gpus", "GPUs (slots) of all nodes by type and state.", labels=["type", "state"])
    for kind, n_usable, n_all in Node.objects.values_list("gpu_type").annotate(
        usable=Sum("n_slots", filter=usable, default=0), every=Sum("n_slots")
    ):
        there.add_metric([kind, "usable"], n_usable)
        there.add_metric([kind, "closed"], n_all - n_usable)
    yield there
    held = GaugeMetricFamily("mlhub_gpus_held", "GPUs that jobs hold, by organisation.", labels=["organisation"])
    live = Attempt.objects.live().filter(job__state__in=HOLDING_GPUS)
    for name, n in live.values_list("job__project__organisation__name").annotate(n=Sum("n_workers")).order_by():
        held.add_metric([name], n)
    yield held


def _ended() -> Iterator[MetricFamily]:
    attempts = CounterMetricFamily("mlhub_attempts_ended", "Ended attempts.", labels=["outcome", "cause"])
    ended = Attempt.objects.exclude(ended_at=None).values_list("outcome", "cause")
    for outcome, cause, n in ended.annotate(n=Count("id")).order_by("outcome", "cause"):
        attempts.add_metric([outcome, cause], n)
    yield attempts
    started = Job.objects.exclude(started_at=None)
    yield _histogram("mlhub_job_wait_seconds", "From submission to the first step.", started, "started_at")
    done = Job.objects.filter(state=JobState.SUCCEEDED).exclude(finished_at=None)
    yield _histogram("mlhub_job_completion_seconds", "From submission to success.", done, "finished_at")


def _histogram(name: str, documentation: str, jobs: Any, until: str) -> HistogramMetricFamily:
    span = ExpressionWrapper(F(until) - F("submitted_at"), output_field=DurationField())
    within = {f"le_{s}": Count("id", filter=Q(span__lte=timedelta(seconds=s))) for s in BUCKETS_S}
    found = jobs.annotate(span=span).aggregate(n=Count("id"), total=Sum("span"), **within)
    buckets: Sequence[tuple[str, float]] = [(str(s), found[f"le_{s}"]) for s in BUCKETS_S]
    total_s = found["total"].total_seconds() if found["total"] else 0.0
    family = HistogramMetricFamily(name, documentation)
    family.add_metric([], [*buckets, ("+Inf", found["n"])], sum_value=total_s)
    return family


def _input_caches() -> Iterator[MetricFamily]:
    files = CounterMetricFamily(
        "mlhub_input_lookups",
        "Inputs that pods found in the cache of their node, or fetched.",
        labels=["node", "outcome"],
    )
    sizes = CounterMetricFamily("mlhub_input_bytes", "The bytes of these inputs.", labels=["node", "outcome"])
    for use in CacheUse.objects.order_by("node"):
        files.add_metric([use.node, "hit"], use.n_found)
        files.add_metric([use.node, "miss"], use.n_fetched)
        sizes.add_metric([use.node, "hit"], use.found_bytes)
        sizes.add_metric([use.node, "miss"], use.fetched_bytes)
    yield files
    yield sizes


def _excluded_nodes() -> MetricFamily:
    text = "Nodes of which all or some GPUs take no new jobs, since attempts failed there."
    family = GaugeMetricFamily("mlhub_excluded_nodes", text)
    excluded = NodeExclusion.objects.filter(until__gt=timezone.now(), node__in=Node.objects.values("name"))
    family.add_metric([], excluded.values("node").distinct().count())
    return family


def _quarantined() -> MetricFamily:
    family = GaugeMetricFamily("mlhub_quarantined_items", "Items that the newest round left out.", labels=["kind"])
    rows = QuarantineRecord.objects.filter(ended_at=None).values_list("kind")
    counts = dict(rows.annotate(n=Count("id")).order_by())
    for kind in ItemKind:
        family.add_metric([kind.value], counts.get(kind.value, 0))
    return family


def _rounds() -> Iterator[MetricFamily]:
    health = round_health(now=timezone.now())
    yield GaugeMetricFamily(
        "mlhub_rounds_stopped", "1 if no round was finished for MLHUB_ROUNDS_LATE_S.", value=health.cause is not None
    )
    if health.finished_age_s is not None:
        yield GaugeMetricFamily(
            "mlhub_round_age_seconds",
            "Since the newest finished round of the control loop.",
            value=health.finished_age_s,
        )
    if health.attempted_age_s is not None:
        yield GaugeMetricFamily(
            "mlhub_round_attempt_age_seconds",
            "Since the control loop last began a round.",
            value=health.attempted_age_s,
        )
    newest = Round.objects.order_by("-id").only("at", "decide_ms", "error").first()
    if newest is None:
        return
    yield GaugeMetricFamily(
        "mlhub_round_decide_seconds", "What the newest round's decision took.", value=newest.decide_ms / 1000
    )
    yield CounterMetricFamily("mlhub_rounds", "Rounds so far.", value=newest.pk)
    yield GaugeMetricFamily(
        "mlhub_round_failed", "1 if the newest round's policy failed; the plan before stands.", value=bool(newest.error)
    )
