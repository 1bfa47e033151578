# SPDX-License-Identifier: Apache-2.0
"""Asks the API server, as dry runs with the control loop's account, for what the admission policies must refuse.

`helm test` runs it in a pod with that account; nothing is made. Exit status 1 where something was admitted, where no
policy had a word in it, or where MLHub could not even make a project's namespace.

    python rights.py PREFIX INSTALLATION
"""

import json
import os
import ssl
import sys
import urllib.error
import urllib.request
from pathlib import Path

ACCOUNT = Path(os.environ.get("MLHUB_ACCOUNT_FOLDER", "/var/run/secrets/kubernetes.io/serviceaccount"))
POLICY = "ValidatingAdmissionPolicy"


def base() -> str:
    host = os.environ["KUBERNETES_SERVICE_HOST"]
    url = f"https://[{host}]" if ":" in host else f"https://{host}"
    return os.environ.get("MLHUB_API_SERVER") or f"{url}:{os.environ['KUBERNETES_SERVICE_PORT']}"


def dry_run(path: str, body: dict) -> tuple[int, str]:
    """The status and, of a refusal, the server's words."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}"}
    url = f"{base()}{path}?dryRun=All"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 (the cluster's own address)
    trusted = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt")) if url.startswith("https") else None
    try:
        with urllib.request.urlopen(request, timeout=20, context=trusted) as answer:  # noqa: S310
            return answer.status, ""
    except urllib.error.HTTPError as error:
        return error.code, str(json.load(error).get("message", ""))


def made(api: str, kind: str, name: str, labels: dict, **body: object) -> dict:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, "labels": labels}, **body}


def attempts(prefix: str, ours: dict) -> dict:
    """What must be refused: path and body."""
    pod = {
        "serviceAccountName": "default",
        "automountServiceAccountToken": False,
        "containers": [{"name": "x", "image": "x"}],
    }
    bare = made("v1", "Namespace", f"{prefix}-rights-test", {**ours, "mlhub.dev/project-id": "rights-test"})
    other = made(
        "v1", "Namespace", "rights-test-of-mlhub", {**ours, "pod-security.kubernetes.io/enforce": "restricted"}
    )
    return {
        "a pod in kube-system": ("/api/v1/namespaces/kube-system/pods", made("v1", "Pod", "mlhub-x", ours, spec=pod)),
        "a Secret in default": ("/api/v1/namespaces/default/secrets", made("v1", "Secret", "mlhub-x", ours)),
        "a namespace without Pod Security": ("/api/v1/namespaces", bare),
        "a namespace of another name": ("/api/v1/namespaces", other),
    }


def main(prefix: str, installation: str) -> int:
    ours = {"app.kubernetes.io/managed-by": "mlhub", "mlhub.dev/installation": installation}
    problems, n_by_policy = [], 0
    for what, (path, body) in attempts(prefix, ours).items():
        status, words = dry_run(path, body)
        print(f"{what}: {status} {words}")
        n_by_policy += status >= 400 and POLICY in words
        if status < 400:
            problems.append(f"{what} was admitted")
    if not n_by_policy:
        problems.append("no admission policy refused anything; are the chart's policies and their bindings there?")
    home = made("v1", "Namespace", f"{prefix}-rights-test", {**ours, "mlhub.dev/project-id": "rights-test"})
    home["metadata"]["labels"] |= {"pod-security.kubernetes.io/enforce": "restricted"}
    status, words = dry_run("/api/v1/namespaces", home)
    if status >= 400:
        problems.append(f"a project's namespace was refused: {words}")
    print("; ".join(problems) or "The admission policies are in force.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
