# SPDX-License-Identifier: Apache-2.0
"""What the control loop's account writes, as requests that policies are asked about."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import yaml

from deploy.helm.render import RENDERED
from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.operations.sweeping import sweep_pod
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.specs import claims, manifests, tenancy
from mlhub.backends.kubernetes.specs.sandbox_jobs import sandbox_job, token_secret
from mlhub.wire.launch import AttemptId, Input, LaunchSpec
from tests.backends.specs import SANDBOX_RUN, gang
from tests.deploy.admission import AdmissionPolicies, Object, WriteRequest

PROJECT = "018f0000-0000-7000-8000-0000000000bb"
HOME = f"mlhub-{PROJECT}"
LABELS = {"organisation": "acme", "project": "signs", "project_id": PROJECT}
GROUPS = {"NetworkPolicy": "networking.k8s.io", "ResourceClaim": "resource.k8s.io", "Job": "batch"}
PLURALS = {"NetworkPolicy": "networkpolicies"}


def rendered(name: str) -> list[Object]:
    return list(yaml.load_all((RENDERED / f"{name}.yaml").read_text(), Loader=yaml.CSafeLoader))


def options_of(name: str) -> KubernetesOptions:
    """The backend's options as the chart's ConfigMap gives them to the control loop."""
    [data] = [o["data"] for o in rendered(name) if o["kind"] == "ConfigMap"]
    prefix = "MLHUB_KUBE_"
    return KubernetesOptions.from_settings(
        {key.removeprefix(prefix).lower(): value for key, value in data.items() if key.startswith(prefix)}
    )


RUN = replace(SANDBOX_RUN, labels=LABELS)
POLICIES = {name: AdmissionPolicies(rendered(name)) for name in ("trial", "production")}
TRIAL, PRODUCTION = options_of("trial"), options_of("production")

MINE = {**names.MANAGED_BY, names.INSTALLATION: TRIAL.installation_id}


def spec() -> LaunchSpec:
    return replace(
        gang(workers=2, servers=1),
        attempt_id=AttemptId("018f0000-0000-7000-8000-000000000001"),
        job_id="018f0000-0000-7000-8000-000000000002",
        labels=LABELS,
        inputs=(Input("train.npz", "ab" * 32, 2**40, "file:///srv/blobs/ab/abab"),),
    )


def namespace(options: KubernetesOptions = TRIAL) -> Object:
    return tenancy.namespace(LABELS, options)


def objects(options: KubernetesOptions = TRIAL) -> list[Object]:
    """Everything that MLHub creates in a project's namespace."""
    launch = spec()
    names_of = names.gang_of(launch, prefix=options.namespace_prefix, installation=options.installation_id)
    record = manifests.record(launch, names_of)
    record["metadata"]["uid"] = "11111111-2222-3333-4444-555555555555"
    pods = [manifests.pod(launch, placement, names_of, options) for placement in launch.pods]
    return [
        *tenancy.contents(HOME, options, api_url=launch.api_url, max_gpus=8, has_claims=True),
        record,
        manifests.secret(launch, names_of, options),
        manifests.network_policy(launch, names_of),
        *(claims.claim(record, names_of, "node-1", 0, options, version=version) for version in claims.VERSIONS),
        *(manifests.owned_by(pod, record) for pod in pods),
        sweep_pod(HOME, options, ended=[launch.job_id], older_than_s=60.0),
        sandbox_job(RUN, options),
        token_secret(RUN, options),
    ]


def create(found: Object, *, within: Object | None = None) -> WriteRequest:
    kind = found["kind"]
    plural = PLURALS.get(kind, f"{kind.lower()}s")
    home = None if kind == "Namespace" else (namespace() if within is None else within)
    return WriteRequest("CREATE", plural, object=found, namespace=home, group=GROUPS.get(kind, ""))


def update(before: Object, after: Object, *, within: Object | None = None) -> WriteRequest:
    return replace(create(after, within=within), operation="UPDATE", before=before)


def delete(found: Object, *, within: Object | None = None) -> WriteRequest:
    return replace(create(found, within=within), operation="DELETE", object=None, before=found)


def one(kind: str, name: str = "") -> Object:
    """A fresh copy of one of MLHub's own objects."""
    return copy.deepcopy(next(o for o in objects() if o["kind"] == kind and name in o["metadata"]["name"]))


def changed(found: Object, change: Callable[[Object], object]) -> Object:
    change(found)
    return found


def pod(change: Callable[[Object], object]) -> WriteRequest:
    return create(changed(one("Pod"), lambda found: change(found["spec"])))


def container(change: Callable[[Object], object]) -> WriteRequest:
    return pod(lambda body: change(body["containers"][0]))


def run(change: Callable[[Object], object]) -> WriteRequest:
    """A Job whose specification is changed."""
    return create(changed(one("Job"), lambda found: change(found["spec"])))


def run_pod(change: Callable[[Object], object]) -> WriteRequest:
    return run(lambda body: change(body["template"]["spec"]))


def service(**spec: Any) -> WriteRequest:
    """Not headless any more, since a server takes nothing of this of one that is."""
    body = {key: value for key, value in one("Service")["spec"].items() if key != "clusterIP"}
    return create({**one("Service"), "spec": {**body, **spec}})


def beyond(group: str, plural: str, kind: str, body: Object, *, within: Object | None = None) -> WriteRequest:
    """The creation of an object of a kind that MLHub never makes."""
    version = f"{group}/v1" if group else "v1"
    found = {"apiVersion": version, "kind": kind, "metadata": {"name": "mlhub-x", "labels": MINE}, **body}
    return WriteRequest("CREATE", plural, object=found, namespace=within, group=group)


def project_namespace(**labels: str) -> WriteRequest:
    return create(changed(namespace(), lambda found: found["metadata"]["labels"].update(labels)))


def elsewhere(name: str, **labels: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def policy(name: str, body: Object) -> WriteRequest:
    return create(changed(one("NetworkPolicy", name), lambda found: found["spec"].update(body)))
