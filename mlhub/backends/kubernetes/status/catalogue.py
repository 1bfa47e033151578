# SPDX-License-Identifier: Apache-2.0
"""Sorts what the cluster shows into gangs of ours, each with its record and members, and reports look-alikes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import partial

from mlhub.backends.kubernetes.client.objects import Object
from mlhub.backends.kubernetes.ownership import KubeInstallation, address_of, attempt_of
from mlhub.backends.kubernetes.quarantine import DAMAGES
from mlhub.backends.protocol import ItemKind
from mlhub.wire.launch import AttemptId

ReportItem = Callable[[ItemKind, str, str], None]  # kind, name, reason


@dataclass
class FoundGang:
    """record: None when it was lost, and the pods are what remains."""

    attempt_id: AttemptId
    record: Object | None
    pods: list[Object] = field(default_factory=list)


@dataclass
class Catalogue:
    """gangs: by attempt. strangers: pods with MLHub's labels that are not ours."""

    gangs: dict[AttemptId, FoundGang] = field(default_factory=dict)
    strangers: list[Object] = field(default_factory=list)


def catalogue(
    records: Iterable[Object],
    pods: Iterable[Object],
    *,
    installation: KubeInstallation,
    namespaces: Collection[str],
    report: ReportItem,
) -> Catalogue:
    """namespaces: those that are ours. report: called for what claims to be ours and is not."""
    found = Catalogue()
    for record in records:
        fault = _fault(partial(installation.record_fault, namespaces=namespaces), record)
        if not fault:
            found.gangs[attempt_of(record)] = FoundGang(attempt_of(record), record)
        elif installation.claims(record):
            report(ItemKind.GANG, f"service {address_of(record)}", _words("Service", fault))
    for pod in pods:
        gang = found.gangs.get(attempt_of(pod))
        owner = gang.record if gang is not None else None
        fault = _fault(partial(installation.pod_fault, namespaces=namespaces, record=owner), pod)
        if not fault:
            found.gangs.setdefault(attempt_of(pod), FoundGang(attempt_of(pod), None)).pods.append(pod)
            continue
        found.strangers.append(pod)
        if installation.claims(pod):
            report(ItemKind.POD, address_of(pod), _words("pod", fault))
    return found


def _fault(check: Callable[[Object], str], found: Object) -> str:
    try:
        return check(found)
    except DAMAGES as error:
        return f"its metadata cannot be read ({type(error).__name__}: {error})"


def _words(kind: str, fault: str) -> str:
    return f"This {kind} bears MLHub's labels, but {fault}; MLHub leaves it alone. Remove it, or its labels."
