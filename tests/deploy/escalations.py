# SPDX-License-Identifier: Apache-2.0
"""Every way past the control loop's rights that is known: for evaluated policies and for real API servers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mlhub.backends.kubernetes import names
from tests.deploy.admission import WriteRequest
from tests.deploy.writes import (
    HOME,
    MINE,
    PROJECT,
    beyond,
    changed,
    container,
    create,
    delete,
    elsewhere,
    namespace,
    one,
    pod,
    policy,
    project_namespace,
    rendered,
    run,
    run_pod,
    service,
    update,
)

LOOKALIKE = {**MINE, names.PROJECT_ID: "kube-system", "pod-security.kubernetes.io/enforce": "restricted"}
RBAC = "rbac.authorization.k8s.io"
ADMIN = {
    "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
    "subjects": [{"kind": "ServiceAccount", "name": "mlhub", "namespace": "mlhub"}],
}
[OWN_ROLE] = [o for o in rendered("trial") if o["kind"] == "ClusterRole"]
EVERYTHING = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
SERVED = {"metadata": {"labels": MINE}, "spec": {**one("Job")["spec"]["template"]["spec"], "restartPolicy": "Always"}}
DEBUGGER = {**one("Pod")["spec"]["containers"][0], "name": "x", "resources": {}, "volumeMounts": []}
NO_NAME = {"metadata": {"labels": MINE}}
PRIVILEGED = {"privileged": True, "allowPrivilegeEscalation": True}
ADMIN_ACCESS = "resource.kubernetes.io/admin-access"
STRANGER = {**one("Pod"), "metadata": {"name": "theirs", "labels": {"app": "theirs"}}}
DISK = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/"}}
VOLUME = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
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
    "changing a stranger's pod": lambda: update(
        STRANGER, {**STRANGER, "metadata": {**STRANGER["metadata"], "annotations": {"x": "y"}}}
    ),
    "taking over a stranger's pod by labels": lambda: update(
        STRANGER, {**STRANGER, "metadata": {**STRANGER["metadata"], "labels": one("Pod")["metadata"]["labels"]}}
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
    "an object without MLHub's label": lambda: create(changed(one("Secret"), lambda o: o["metadata"].pop("labels"))),
    "deleting the cluster's certificates": lambda: delete(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-root-ca.crt"}}
    ),
    # rights
    "a RoleBinding in a project": lambda: beyond(RBAC, "rolebindings", "RoleBinding", ADMIN, within=namespace()),
    "a ClusterRoleBinding": lambda: beyond(RBAC, "clusterrolebindings", "ClusterRoleBinding", ADMIN),
    "a change of its own ClusterRole": lambda: WriteRequest(
        "UPDATE", "clusterroles", object={**OWN_ROLE, "rules": EVERYTHING}, before=OWN_ROLE, group=RBAC
    ),
    "a Deployment in a project": lambda: beyond(
        "apps",
        "deployments",
        "Deployment",
        {
            "spec": {
                "selector": {"matchLabels": MINE},
                "template": SERVED,
            }
        },
        within=namespace(),
    ),
    "a webhook": lambda: beyond(
        "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", {}
    ),
    "a persistent volume of a node's disk": lambda: beyond("", "persistentvolumes", "PersistentVolume", {"spec": DISK}),
    "exec into a training pod": lambda: replace(
        create(one("Pod")),
        operation="CONNECT",
        subresource="exec",
        object={"kind": "PodExecOptions", "apiVersion": "v1", "command": ["sh"]},
        before=one("Pod"),
    ),
    "an ephemeral container": lambda: replace(
        update(one("Pod"), changed(one("Pod"), lambda o: o["spec"].update(ephemeralContainers=[DEBUGGER]))),
        subresource="ephemeralcontainers",
    ),
    "the token of an account": lambda: replace(
        beyond("authentication.k8s.io", "serviceaccounts", "TokenRequest", {**NO_NAME, "spec": {}}, within=namespace()),
        group="",
        subresource="token",
        before=one("ServiceAccount"),
    ),
    "binding a pod to a node": lambda: replace(
        beyond(
            "",
            "pods",
            "Binding",
            {"metadata": one("Pod")["metadata"], "target": {"kind": "Node", "name": "node-1"}},
            within=namespace(),
        ),
        subresource="binding",
        before=one("Pod"),
    ),
    "a node": lambda: beyond("", "nodes", "Node", {}),
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
    "a namespace with administrators' access to devices": lambda: project_namespace(**{ADMIN_ACCESS: "true"}),
    "a namespace that moves its pods to the control plane": lambda: create(
        changed(
            namespace(),
            lambda o: o["metadata"]["annotations"].update(
                {"scheduler.alpha.kubernetes.io/node-selector": "node-role.kubernetes.io/control-plane="}
            ),
        )
    ),
    # pods
    "a privileged container": lambda: container(lambda c: c["securityContext"].update(PRIVILEGED)),
    "a privileged init container": lambda: pod(
        lambda body: body["initContainers"][0]["securityContext"].update(PRIVILEGED)
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
    "an unmasked /proc": lambda: pod(
        lambda body: (
            body.update(hostUsers=False),
            body["containers"][0]["securityContext"].update(procMount="Unmasked"),
        )
    ),
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
    "a raw device": lambda: pod(
        lambda body: (
            body["volumes"].append({"name": "x", "persistentVolumeClaim": {"claimName": "mlhub-checkpoints"}}),
            body["containers"][0].update(volumeDevices=[{"name": "x", "devicePath": "/dev/x"}]),
        )
    ),
    "any image": lambda: container(lambda c: c.update(image="evil.example.org/miner:1")),
    "an image whose name begins like the runtime's": lambda: container(
        lambda c: c.update(image="mlhub-runtime-evil:1")
    ),
    "another image later": lambda: update(
        one("Pod"), changed(one("Pod"), lambda o: o["spec"]["containers"][0].update(image="mlhub-runtime:9"))
    ),
    "a node without the scheduler": lambda: pod(
        lambda body: (body.pop("schedulingGates"), body.update(nodeName="control-plane-1"))
    ),
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
        changed(
            one("Secret", GANG),
            lambda o: (
                o.update(type="kubernetes.io/service-account-token"),
                o["metadata"].update(annotations={"kubernetes.io/service-account.name": "mlhub-pods"}),
            ),
        )
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
    "deleting the API server's own Service": lambda: delete(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "kubernetes"},
            "spec": {"ports": [{"port": 443}]},
        },
        within=elsewhere("default"),
    ),
    "a chosen volume": lambda: create(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "mlhub-inputs", "labels": MINE},
            "spec": {**VOLUME, "volumeName": "pv-of-others"},
        }
    ),
    "a copy of another volume": lambda: create(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "mlhub-inputs", "labels": MINE},
            "spec": {**VOLUME, "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "x"}},
        }
    ),
    "administrators' access to GPUs": lambda: create(
        changed(
            one("ResourceClaim"), lambda o: o["spec"]["devices"]["requests"][0]["exactly"].update(adminAccess=True)
        ),
        within=changed(namespace(), lambda o: o["metadata"]["labels"].update({ADMIN_ACCESS: "true"})),
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
