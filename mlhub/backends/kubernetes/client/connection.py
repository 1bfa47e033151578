# SPDX-License-Identifier: Apache-2.0
"""The way to an API server: by a kubeconfig, or as the pod that this process runs in."""

from __future__ import annotations

from pathlib import Path

import urllib3
import yaml
from kubernetes import client, config
from kubernetes.config.config_exception import ConfigException

from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.protocol import BackendUnavailableError

N_CONNECTIONS = 48  # kept open: a watch of each kind, and the requests that run at once


def connection(options: KubernetesOptions, *, token: str = "") -> client.ApiClient:
    """By kubeconfig, or as the pod that this runs in. token: of another account, instead of the one found there.

    Raises BackendUnavailableError saying what to set.
    """
    found = client.Configuration()
    try:
        if options.kubeconfig or not _is_in_pod():
            config.load_kube_config(options.kubeconfig or None, options.context or None, found)
        else:
            config.load_incluster_config(found)
    except (ConfigException, OSError, yaml.YAMLError) as error:
        tried, problem = options.kubeconfig or "the default kubeconfig", str(error).rstrip(".")
        raise BackendUnavailableError(
            f"No way to a Kubernetes API by {tried}: {problem}. Name a kubeconfig with MLHUB_KUBE_KUBECONFIG."
        ) from error
    if token:
        found.api_key = {"BearerToken": token}
        found.api_key_prefix = {"BearerToken": "Bearer"}
        found.refresh_api_key_hook = None
        found.cert_file = found.key_file = None
    found.connection_pool_maxsize = N_CONNECTIONS
    found.retries = urllib3.Retry(0)  # ours are typed, bounded and know what may be repeated
    return client.ApiClient(found)


def _is_in_pod() -> bool:
    return Path("/var/run/secrets/kubernetes.io/serviceaccount/token").exists()
