# SPDX-License-Identifier: Apache-2.0
"""Tests of the chart's admission policies: what the control loop's account may write, and every way past them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
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


def spec() -> LaunchSpec:
    return replace(
        gang(workers=2, servers=1),
        attempt_id=AttemptId("018f0000-0000-7000-8000-000000000001"),
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
        manifests.secret(launch, names_of),
        manifests.instructions(launch, names_of, options),
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
    return create(changed(one("Service"), lambda found: found["spec"].update(spec)))


def project_namespace(**labels: str) -> WriteRequest:
    return create(changed(namespace(), lambda found: found["metadata"]["labels"].update(labels)))


def elsewhere(name: str, **labels: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def policy(name: str, body: Object) -> WriteRequest:
    return create(changed(one("NetworkPolicy", name), lambda found: found["spec"].update(body)))


MINE = {**names.MANAGED_BY, names.INSTALLATION: TRIAL.installation_id}
LOOKALIKE = {**MINE, names.PROJECT_ID: "kube-system", "pod-security.kubernetes.io/enforce": "restricted"}
ROLE = {"kind": "RoleBinding", "metadata": {"name": "mlhub-x", "labels": MINE}, "roleRef": {}, "subjects": []}
RBAC = "rbac.authorization.k8s.io"
STRANGER = {"kind": "Pod", "metadata": {"name": "theirs", "labels": {"app": "theirs"}}, "spec": {"containers": []}}
GANG = "mlhub-018f"

ATTEMPTS: dict[str, Callable[[], WriteRequest]] = {
    # outside of MLHub's projects
    "a pod in kube-system": lambda: create(one("Pod"), within=elsewhere("kube-system")),
    "a pod in a namespace that copied the labels": lambda: create(one("Pod"), within=elsewhere("default", **LOOKALIKE)),
    "a pod in MLHub's own namespace": lambda: create(one("Pod"), within=elsewhere("mlhub", **LOOKALIKE)),
    "a pod in a namespace that only has the prefix": lambda: create(one("Pod"), within=elsewhere(HOME)),
    "a pod in the namespace of another prefix": lambda: create(
        one("Pod"), within=elsewhere(f"other-{PROJECT}", **{**LOOKALIKE, names.PROJECT_ID: PROJECT})
    ),
    "a pod where Pod Security is privileged": lambda: create(
        one("Pod"),
        within=elsewhere(
            HOME, **{**MINE, names.PROJECT_ID: PROJECT, "pod-security.kubernetes.io/enforce": "privileged"}
        ),
    ),
    "a secret in kube-system": lambda: create(one("Secret"), within=elsewhere("kube-system")),
    "deleting a secret of another namespace": lambda: delete(one("Secret"), within=elsewhere("default")),
    "deleting a stranger's pod": lambda: delete(STRANGER),
    "changing a stranger's pod": lambda: update(STRANGER, STRANGER),
    "taking over a stranger's pod by labels": lambda: update(
        STRANGER, {**one("Pod"), "metadata": {**one("Pod")["metadata"], "name": "theirs"}}
    ),
    "a pod in a project of another installation": lambda: create(
        one("Pod"), within=changed(namespace(), lambda o: o["metadata"]["labels"].update({names.INSTALLATION: "b"}))
    ),
    "deleting a pod of another installation": lambda: delete(
        changed(one("Pod"), lambda o: o["metadata"]["labels"].update({names.INSTALLATION: "b"}))
    ),
    "a pod in the name of another installation": lambda: create(
        changed(one("Pod"), lambda o: o["metadata"]["labels"].update({names.INSTALLATION: "b"}))
    ),
    "an object without MLHub's label": lambda: create(changed(one("ConfigMap"), lambda o: o["metadata"].pop("labels"))),
    "deleting the cluster's certificates": lambda: delete(
        {"kind": "ConfigMap", "metadata": {"name": "kube-root-ca.crt"}}
    ),
    # rights
    "a RoleBinding in a project": lambda: replace(create(one("Pod")), resource="rolebindings", group=RBAC, object=ROLE),
    "a ClusterRoleBinding": lambda: WriteRequest("CREATE", "clusterrolebindings", object=ROLE, group=RBAC),
    "a change of its own ClusterRole": lambda: WriteRequest(
        "UPDATE", "clusterroles", object=ROLE, before=ROLE, group=RBAC
    ),
    "a Deployment in a project": lambda: replace(create(one("Pod")), resource="deployments", group="apps"),
    "a webhook": lambda: WriteRequest(
        "CREATE", "mutatingwebhookconfigurations", object=ROLE, group="admissionregistration.k8s.io"
    ),
    "a persistent volume of a node's disk": lambda: WriteRequest("CREATE", "persistentvolumes", object=ROLE),
    "exec into a training pod": lambda: replace(
        create(one("Pod")), operation="CONNECT", resource="pods", subresource="exec", object={"command": ["sh"]}
    ),
    "an ephemeral container": lambda: replace(update(one("Pod"), one("Pod")), subresource="ephemeralcontainers"),
    "the token of an account": lambda: replace(
        create(one("ServiceAccount")), resource="serviceaccounts", subresource="token"
    ),
    "binding a pod to a node": lambda: replace(create(one("Pod")), subresource="binding"),
    "a node": lambda: WriteRequest("CREATE", "nodes", object={"metadata": {"name": "n", "labels": MINE}}),
    # namespaces
    "deleting a project's namespace": lambda: delete(namespace()),
    "a namespace without Pod Security": lambda: create(
        changed(namespace(), lambda o: o["metadata"]["labels"].pop("pod-security.kubernetes.io/enforce"))
    ),
    "a namespace with Pod Security privileged": lambda: project_namespace(
        **{"pod-security.kubernetes.io/enforce": "privileged"}
    ),
    "loosening a project's namespace": lambda: replace(
        project_namespace(**{"pod-security.kubernetes.io/enforce": "baseline"}), operation="UPDATE", before=namespace()
    ),
    "taking over kube-system": lambda: replace(
        create(elsewhere("kube-system", **LOOKALIKE)), operation="UPDATE", before=elsewhere("kube-system")
    ),
    "a namespace of any name": lambda: create(changed(namespace(), lambda o: o["metadata"].update(name="kube-plus"))),
    "a namespace with administrators' access to devices": lambda: project_namespace(
        **{"resource.kubernetes.io/admin-access": "true"}
    ),
    "a namespace that moves its pods to the control plane": lambda: create(
        changed(
            namespace(),
            lambda o: o["metadata"]["annotations"].update(
                {"scheduler.alpha.kubernetes.io/node-selector": "node-role.kubernetes.io/control-plane="}
            ),
        )
    ),
    # pods
    "a privileged container": lambda: container(lambda c: c["securityContext"].update(privileged=True)),
    "a privileged init container": lambda: pod(
        lambda body: body["initContainers"][0]["securityContext"].update(privileged=True)
    ),
    "privilege escalation": lambda: container(lambda c: c["securityContext"].update(allowPrivilegeEscalation=True)),
    "a capability": lambda: container(lambda c: c["securityContext"]["capabilities"].update(add=["SYS_ADMIN"])),
    "capabilities kept": lambda: container(lambda c: c["securityContext"].pop("capabilities")),
    "a container without a security context": lambda: container(lambda c: c.pop("securityContext")),
    "a container that runs as root": lambda: container(lambda c: c["securityContext"].update(runAsUser=0)),
    "a pod that runs as root": lambda: pod(
        lambda body: body["securityContext"].update(runAsUser=0, runAsNonRoot=False)
    ),
    "no seccomp profile": lambda: container(
        lambda c: c["securityContext"].update(seccompProfile={"type": "Unconfined"})
    ),
    "an unmasked /proc": lambda: container(lambda c: c["securityContext"].update(procMount="Unmasked")),
    "the node's network": lambda: pod(lambda body: body.update(hostNetwork=True)),
    "the node's processes": lambda: pod(lambda body: body.update(hostPID=True)),
    "the node's shared memory": lambda: pod(lambda body: body.update(hostIPC=True)),
    "a port of the node": lambda: container(lambda c: c.update(ports=[{"containerPort": 80, "hostPort": 80}])),
    "the node's disk": lambda: pod(lambda body: body["volumes"].append({"name": "x", "hostPath": {"path": "/"}})),
    "a projected token": lambda: pod(
        lambda body: body["volumes"].append(
            {"name": "x", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
        )
    ),
    "the account's token": lambda: pod(lambda body: body.update(automountServiceAccountToken=True)),
    "another account": lambda: pod(lambda body: body.update(serviceAccountName="default")),
    "a secret that is not MLHub's": lambda: pod(
        lambda body: body["volumes"].append({"name": "x", "secret": {"secretName": "registry"}})
    ),
    "a secret in a variable": lambda: container(
        lambda c: c["env"].append({"name": "X", "valueFrom": {"secretKeyRef": {"name": "registry", "key": "x"}}})
    ),
    "secrets in variables": lambda: container(lambda c: c.update(envFrom=[{"secretRef": {"name": "registry"}}])),
    "a volume of another claim": lambda: pod(
        lambda body: body["volumes"].append({"name": "x", "persistentVolumeClaim": {"claimName": "theirs"}})
    ),
    "a CSI driver that was not configured": lambda: pod(
        lambda body: body["volumes"].append({"name": "x", "csi": {"driver": "csi.example.org", "readOnly": True}})
    ),
    "a raw device": lambda: container(lambda c: c.update(volumeDevices=[{"name": "x", "devicePath": "/dev/x"}])),
    "any image": lambda: container(lambda c: c.update(image="evil.example.org/miner:1")),
    "an image whose name begins like the runtime's": lambda: container(
        lambda c: c.update(image="mlhub-runtime-evil:1")
    ),
    "another image later": lambda: update(
        one("Pod"), changed(one("Pod"), lambda o: o["spec"]["containers"][0].update(image="mlhub-runtime:9"))
    ),
    "a node without the scheduler": lambda: pod(lambda body: body.update(nodeName="control-plane-1")),
    "a priority of the system": lambda: pod(lambda body: body.update(priorityClassName="system-node-critical")),
    "the control plane's nodes": lambda: pod(
        lambda body: body["tolerations"].append({"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"})
    ),
    "every taint": lambda: pod(lambda body: body["tolerations"].append({"operator": "Exists"})),
    "another runtime class": lambda: pod(lambda body: body.update(runtimeClassName="runc-privileged")),
    # Jobs
    "a Job of another name": lambda: create(changed(one("Job"), lambda o: o["metadata"].update(name="miner"))),
    "a Job whose pod bears no label": lambda: run(lambda body: body["template"]["metadata"].update(labels={})),
    "a Job of many pods": lambda: run(lambda body: body.update(parallelism=100)),
    "a Job without a deadline": lambda: run(lambda body: body.pop("activeDeadlineSeconds")),
    "a Job that runs another program": lambda: run_pod(lambda b: b["containers"][0].update(command=["sh", "-c", "x"])),
    "a Job with arguments": lambda: run_pod(lambda body: body["containers"][0].update(args=["x"])),
    "a Job with the Secret of a gang": lambda: run_pod(
        lambda body: body["volumes"][1]["secret"].update(secretName=GANG)
    ),
    "a Job with the account's token": lambda: run_pod(lambda body: body.update(automountServiceAccountToken=True)),
    "a Job with another image": lambda: run_pod(lambda b: b["containers"][0].update(image="evil.example.org/miner:1")),
    "a Job on the node's network": lambda: run_pod(lambda body: body.update(hostNetwork=True)),
    "a Job as root": lambda: run_pod(lambda body: body["securityContext"].update(runAsUser=0, runAsNonRoot=False)),
    "a Job in kube-system": lambda: create(one("Job"), within=elsewhere("kube-system")),
    "a way to everywhere for uploaded code": lambda: policy("mlhub-sandbox-runs", {"egress": [{}]}),
    # other objects
    "a token Secret": lambda: create(
        changed(one("Secret"), lambda o: o.update(type="kubernetes.io/service-account-token"))
    ),
    "an account with a mounted token": lambda: create(
        changed(one("ServiceAccount"), lambda o: o.update(automountServiceAccountToken=True))
    ),
    "an account of another name": lambda: create(
        changed(one("ServiceAccount"), lambda o: o["metadata"].update(name="mlhub-admin"))
    ),
    "an account with a role of the cloud": lambda: create(
        changed(
            one("ServiceAccount"),
            lambda o: o["metadata"].update(annotations={"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/admin"}),
        )
    ),
    "a load balancer": lambda: service(type="LoadBalancer"),
    "a port on every node": lambda: service(type="NodePort"),
    "an external address": lambda: service(externalIPs=["10.0.0.1"]),
    "a name outside": lambda: service(type="ExternalName", externalName="example.org"),
    "a chosen volume": lambda: create(
        {
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "mlhub-inputs", "labels": MINE},
            "spec": {"volumeName": "pv-of-others"},
        }
    ),
    "a copy of another volume": lambda: create(
        {
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "mlhub-inputs", "labels": MINE},
            "spec": {"dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "x", "namespace": "others"}},
        }
    ),
    "administrators' access to GPUs": lambda: create(
        changed(one("ResourceClaim"), lambda o: o["spec"]["devices"]["requests"][0]["exactly"].update(adminAccess=True))
    ),
    "deleting the default-deny policy": lambda: delete(one("NetworkPolicy", "mlhub-default-deny")),
    "a default-deny policy that allows": lambda: policy("mlhub-default-deny", {"ingress": [{}]}),
    "a way to everywhere": lambda: policy("mlhub-names-and-ingest", {"egress": [{}]}),
    "a way to every address": lambda: policy(
        "mlhub-names-and-ingest", {"egress": [{"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}]}]}
    ),
    "a gang's policy for every pod": lambda: policy(GANG, {"podSelector": {}}),
    "a gang's policy to everywhere": lambda: policy(GANG, {"egress": [{}]}),
    "a gang's policy to other namespaces": lambda: policy(GANG, {"egress": [{"to": [{"namespaceSelector": {}}]}]}),
    "a gang's policy from everywhere": lambda: policy(GANG, {"ingress": [{}]}),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_an_escalation_is_refused(attempt: str) -> None:
    assert POLICIES["trial"].refusals(ATTEMPTS[attempt]()) != []


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_the_same_attempt_of_an_administrator_is_none_of_the_policies_business(attempt: str) -> None:
    assert POLICIES["trial"].refusals(replace(ATTEMPTS[attempt](), user="kubernetes-admin")) == []


@pytest.mark.parametrize("name", ["trial", "production"])
def test_all_that_mlhub_makes_is_admitted(name: str) -> None:
    options = options_of(name)
    home = namespace(options)
    asked = [create(home), *(create(found, within=home) for found in objects(options))]
    assert {
        (one.resource, tuple(POLICIES[name].refusals(one))) for one in asked if POLICIES[name].refusals(one)
    } == set()
    assert {one.resource for one in asked} >= {"pods", "services", "secrets", "configmaps", "networkpolicies"}


@pytest.mark.parametrize("name", ["trial", "production"])
def test_every_object_may_be_changed_and_those_of_gangs_removed(name: str) -> None:
    """Gates and finalizers go from pods, annotations come to records, owners to claims; all of it ends."""
    options = options_of(name)
    home = namespace(options)
    for found in objects(options):
        after = copy.deepcopy(found)
        after["metadata"].pop("finalizers", None)
        after["metadata"]["annotations"] = {**after["metadata"].get("annotations", {}), names.LAUNCHED: "now"}
        after.get("spec", {}).pop("schedulingGates", None)
        assert POLICIES[name].refusals(update(found, after, within=home)) == [], found["kind"]
        if found["metadata"]["name"].startswith(GANG):
            assert POLICIES[name].refusals(delete(after, within=home)) == [], found["kind"]


@pytest.mark.slow
def test_each_refusal_has_the_reason_of_its_own_rule() -> None:
    """An attempt that several rules refuse would hide that one of them says nothing."""
    said = {message for attempt in ATTEMPTS.values() for message in POLICIES["trial"].refusals(attempt())}
    written = {message for policy in POLICIES["trial"].policies for _, message in policy.validations}
    assert said == written


def test_a_request_that_a_rule_cannot_read_is_refused() -> None:
    assert POLICIES["trial"].refusals(create({"kind": "Pod", "metadata": {"name": "x", "labels": MINE}})) != []
