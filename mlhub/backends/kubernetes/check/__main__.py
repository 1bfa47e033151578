# SPDX-License-Identifier: Apache-2.0
"""python -m mlhub.backends.kubernetes.check: options from MLHUB_KUBE_ variables; exit 1 when MLHub cannot work here."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from dataclasses import replace
from typing import Any

from mlhub.backends.kubernetes.backend import KubernetesBackend
from mlhub.backends.kubernetes.check import surroundings
from mlhub.backends.kubernetes.check.gangs import LABELS, GangCheck
from mlhub.backends.kubernetes.check.installation import PREFIX, install, look_at_rights, uninstall
from mlhub.backends.kubernetes.check.report import CheckReport
from mlhub.backends.kubernetes.client import paths
from mlhub.backends.kubernetes.client.api import KubernetesApi
from mlhub.backends.kubernetes.client.connection import connection
from mlhub.backends.kubernetes.client.errors import ApiError
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.specs import tenancy
from mlhub.backends.protocol import BackendUnavailableError, LaunchError, NodeStatus

STAND_IN = "mlhub-check-node"
SETTING = "MLHUB_KUBE_"


def check(options: KubernetesOptions, report: CheckReport) -> int:
    """Returns the exit code. Whatever happens, what was made is removed."""
    options = replace(options, namespace_prefix=PREFIX)
    admin = KubernetesApi(lambda: connection(options), timeout_s=options.request_timeout_s)
    try:
        surroundings.look_at_version(admin, report)
    except (BackendUnavailableError, ApiError) as error:
        report.failed(str(error))
        return report.exit_code
    try:
        _check(options, admin, report)
    except (BackendUnavailableError, LaunchError, ApiError) as error:
        report.failed(str(error))
    finally:
        try:
            admin.delete(f"{paths.NODES}/{STAND_IN}")
            left = uninstall(admin, prefix=PREFIX)
        except (BackendUnavailableError, ApiError) as error:
            left = [f"everything ({error})"]
        if left:
            report.failed(f"Could not be removed: {'; '.join(left)}.")
    return report.exit_code


def _check(options: KubernetesOptions, admin: KubernetesApi, report: CheckReport) -> None:
    token = install(admin, report)

    def connect(chosen: KubernetesOptions) -> KubernetesBackend:
        api = KubernetesApi(lambda: connection(chosen, token=token), timeout_s=chosen.request_timeout_s)
        return KubernetesBackend(api, chosen)

    look_at_rights(KubernetesApi(lambda: connection(options, token=token), timeout_s=options.request_timeout_s), report)
    backend = connect(options)
    nodes = list(backend.inventory())
    surroundings.look_at_nodes(nodes, options, report)
    surroundings.look_at_storage(admin, options, report)
    surroundings.look_at_sharing(admin, nodes, options, report)
    surroundings.look_at_network(admin, report)
    usable = [n for n in nodes if n.is_ready and n.is_schedulable]
    has_kubelet = bool(usable)
    if not nodes:
        admin.create(paths.NODES, _stand_in())
        admin.patch(f"{paths.NODES}/{STAND_IN}/status", {"status": _stand_in()["status"]})
        usable = [NodeStatus(STAND_IN, "default", "cpu-slot", 4, 4.0, 2**33, 1e10, 1e10)]
    backend.close()
    if not usable:
        report.failed("There are nodes, but none takes pods; gangs were not tried.")
        return
    gangs = GangCheck(connect, admin, options, report)
    last = connect(options)
    try:
        gangs.run(usable, has_kubelet=has_kubelet)
        namespace = tenancy.namespace(LABELS, options)["metadata"]["name"]
        surroundings.look_at_pod_security(admin, namespace, report)
    finally:
        with contextlib.suppress(BackendUnavailableError):  # what went wrong first is what counts
            gangs.remove(last)
        last.close()


def _stand_in() -> dict[str, Any]:
    """A node of paper, for an API server that has none."""
    room = {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "20Gi", "pods": "10"}
    ready = {"type": "Ready", "status": "True", "reason": "Check", "lastTransitionTime": "2000-01-01T00:00:00Z"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": STAND_IN},
        "status": {"allocatable": room, "capacity": room, "conditions": [ready]},
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m mlhub.backends.kubernetes.check", description=__doc__)
    parser.add_argument(
        "--kubeconfig", default="", help="path; default: $KUBECONFIG, ~/.kube/config, or the pod's account"
    )
    parser.add_argument("--image", default="", help="the runtime image to run gangs with")
    asked = parser.parse_args()
    raw = {k.removeprefix(SETTING).lower(): v for k, v in os.environ.items() if k.startswith(SETTING)}
    chosen = {"kubeconfig": asked.kubeconfig or os.environ.get("KUBECONFIG", ""), "image": asked.image}
    try:
        options = KubernetesOptions.from_settings({**raw, **{k: v for k, v in chosen.items() if v}})
    except ValueError as error:
        parser.error(str(error))
    return check(options, CheckReport())


if __name__ == "__main__":
    sys.exit(main())
