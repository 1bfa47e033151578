# SPDX-License-Identifier: Apache-2.0
"""Tests of the fake API server's apply patch: managers, conflicts, and fields that are left out, as real ones do it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mlhub.backends.kubernetes.client.access import AccessRule
from mlhub.backends.kubernetes.client.api import KubernetesApi
from mlhub.backends.kubernetes.client.connection import connection
from mlhub.backends.kubernetes.client.errors import ApiError, KubeConflictError
from mlhub.backends.kubernetes.options import KubernetesOptions
from tests.backends.kubernetes.api_server import ADMIN, ApiServer

QUOTA = "/api/v1/namespaces/mlhub-a/resourcequotas/limits"


def limits(**hard: str) -> dict[str, Any]:
    metadata = {"name": "limits", "namespace": "mlhub-a"}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": hard}}


@pytest.fixture
def api(server: ApiServer, tmp_path: Path) -> KubernetesApi:
    server.store.create("namespaces", "", {"metadata": {"name": "mlhub-a"}})
    options = KubernetesOptions(kubeconfig=server.kubeconfig(tmp_path, token=ADMIN))
    return KubernetesApi(lambda: connection(options), timeout_s=60.0)


def test_apply_makes_an_object_and_a_repeat_changes_nothing(api: KubernetesApi) -> None:
    made = api.apply(QUOTA, limits(pods="1"))
    assert api.apply(QUOTA, limits(pods="1")) == made


def test_apply_removes_what_it_applied_before_and_keeps_what_others_set(api: KubernetesApi, server: ApiServer) -> None:
    api.apply(QUOTA, limits(pods="1", secrets="2"))
    server.store.patch("resourcequotas", "mlhub-a", "limits", {"spec": {"hard": {"services": "3"}}})
    assert api.apply(QUOTA, limits(pods="1"))["spec"]["hard"] == {"pods": "1", "services": "3"}


def test_what_another_client_changed_is_a_conflict_unless_it_is_forced(api: KubernetesApi, server: ApiServer) -> None:
    api.apply(QUOTA, limits(pods="1"))
    server.store.patch("resourcequotas", "mlhub-a", "limits", {"spec": {"hard": {"pods": "9"}}})
    query = {"fieldManager": "mlhub"}
    with pytest.raises(KubeConflictError, match=r"conflict with .*\.spec\.hard\.pods"):
        api._json("PATCH", QUOTA, query=query, body=limits(pods="1"), content_type="application/apply-patch+yaml")
    assert api.apply(QUOTA, limits(pods="1"))["spec"]["hard"] == {"pods": "1"}


def test_apply_names_its_manager_and_needs_the_right_to_create(
    api: KubernetesApi, server: ApiServer, tmp_path: Path
) -> None:
    with pytest.raises(ApiError, match="fieldManager"):
        api._json("PATCH", QUOTA, query={}, body=limits(), content_type="application/apply-patch+yaml")
    server.rules = [AccessRule("", "resourcequotas", ("patch",), "")]
    options = KubernetesOptions(kubeconfig=server.kubeconfig(tmp_path))
    limited = KubernetesApi(lambda: connection(options), timeout_s=60.0)
    with pytest.raises(ApiError, match='cannot create resource "resourcequotas"'):
        limited.apply(QUOTA, limits())
