# SPDX-License-Identifier: Apache-2.0
"""Tests of the fake API server itself: what a real one refuses it must refuse, too, or other tests prove nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mlhub.backends.kubernetes.client import paths
from mlhub.backends.kubernetes.client.api import KubernetesApi
from mlhub.backends.kubernetes.client.connection import connection
from mlhub.backends.kubernetes.client.errors import ApiError, ExpiredError, ForbiddenError, KubeConflictError
from mlhub.backends.kubernetes.options import KubernetesOptions
from tests.backends.kubernetes.api_server import ApiServer
from tests.backends.kubernetes.kubelet import node
from tests.backends.kubernetes.store import Object

HOME = "/api/v1/namespaces/home"


@pytest.fixture
def api(tmp_path: Path) -> Iterator[tuple[ApiServer, KubernetesApi]]:
    server = ApiServer()
    server.store.create("namespaces", "", {"metadata": {"name": "home"}})
    server.store.create("serviceaccounts", "home", {"metadata": {"name": "default"}})
    options = KubernetesOptions(kubeconfig=server.kubeconfig(tmp_path))
    yield server, KubernetesApi(lambda: connection(options), timeout_s=60.0)
    server.stop()


def config_map(name: str = "settings", **more: object) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "home"}, **more}


def pod(name: str = "one") -> Object:
    body = {"containers": [{"name": "main", "image": "x"}], "schedulingGates": [{"name": "mlhub.dev/gang"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "home"}, "spec": body}


def test_unknown_fields_are_refused_when_that_is_asked_for_and_dropped_otherwise(
    api: tuple[ApiServer, KubernetesApi],
) -> None:
    _, client = api
    typo = pod() | {"spec": {**pod()["spec"], "restartPolicyy": "Never"}}
    with pytest.raises(ApiError, match=r'unknown field "spec\.restartPolicyy"') as refused:
        client.create(f"{HOME}/pods", typo)
    assert refused.value.status == 400
    made = client.create(f"{HOME}/pods", typo, fieldValidation="Warn")
    assert "restartPolicyy" not in made["spec"]


@pytest.mark.parametrize(
    "wrong", [{"metadata": {"name": "Not_A_Name"}}, {"metadata": {"name": "a", "labels": {"k": "x y"}}}]
)
def test_names_and_labels_that_no_server_takes_are_invalid(api: tuple[ApiServer, KubernetesApi], wrong: Object) -> None:
    with pytest.raises(ApiError, match="Invalid value") as refused:
        api[1].create(f"{HOME}/configmaps", config_map() | wrong)
    assert refused.value.status == 422


def test_a_change_to_an_object_that_was_changed_since_is_a_conflict(api: tuple[ApiServer, KubernetesApi]) -> None:
    _, client = api
    seen = client.create(f"{HOME}/configmaps", config_map())
    path = f"{HOME}/configmaps/settings"
    client.patch(path, {"data": {"a": "1"}})
    with pytest.raises(KubeConflictError, match="has been modified"):
        client.patch(path, {"metadata": {"resourceVersion": seen["metadata"]["resourceVersion"]}, "data": {"a": "2"}})
    with pytest.raises(KubeConflictError):
        client.delete(path, seen=seen)
    assert client.get(path)["data"] == {"a": "1"}


def test_a_change_that_changes_nothing_makes_no_version(api: tuple[ApiServer, KubernetesApi]) -> None:
    _, client = api
    made = client.create(f"{HOME}/configmaps", config_map(data={"a": "1"}))
    assert client.patch(f"{HOME}/configmaps/settings", {"data": {"a": "1"}}) == made


def test_what_is_immutable_stays(api: tuple[ApiServer, KubernetesApi]) -> None:
    _, client = api
    client.create(f"{HOME}/configmaps", config_map(data={"a": "1"}, immutable=True))
    client.create(f"{HOME}/pods", pod())
    for path, change in (
        (f"{HOME}/configmaps/settings", {"data": {"a": "2"}}),
        (f"{HOME}/pods/one", {"spec": {"nodeName": "n"}}),
        (f"{HOME}/pods/one", {"spec": {"schedulingGates": [{"name": "another"}]}}),
    ):
        with pytest.raises(ApiError) as refused:
            client.patch(path, change)
        assert refused.value.status == 422
    assert not client.patch(f"{HOME}/pods/one", {"spec": {"schedulingGates": None}})["spec"].get("schedulingGates")


def test_finalizers_hold_what_is_deleted_and_none_can_be_added_then(api: tuple[ApiServer, KubernetesApi]) -> None:
    server, client = api
    held = config_map()
    held["metadata"]["finalizers"] = ["example.org/held"]
    client.create(f"{HOME}/configmaps", held)
    path = f"{HOME}/configmaps/settings"
    client.delete(path)
    assert client.get(path)["metadata"]["deletionTimestamp"]
    with pytest.raises(ApiError, match="no new finalizers"):
        client.patch(path, {"metadata": {"finalizers": ["example.org/held", "example.org/more"]}})
    client.patch(path, {"metadata": {"finalizers": None}})
    assert ("configmaps", "home", "settings") not in server.store.objects


def test_what_has_several_owners_is_collected_with_the_last(api: tuple[ApiServer, KubernetesApi]) -> None:
    server, client = api
    owners = []
    for name in ("first", "second"):
        made = client.create(f"{HOME}/configmaps", config_map(name))
        owners.append({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": made["metadata"]["uid"]})
    owned = config_map()
    owned["metadata"]["ownerReferences"] = owners
    client.create(f"{HOME}/configmaps", owned)
    client.delete(f"{HOME}/configmaps/first")
    assert server.store.collect_garbage() == 0
    assert [o["name"] for o in client.get(f"{HOME}/configmaps/settings")["metadata"]["ownerReferences"]] == ["second"]
    client.delete(f"{HOME}/configmaps/second")
    assert server.store.collect_garbage() == 1


def test_a_namespace_that_ends_takes_nothing_new_and_waits_for_what_is_held(
    api: tuple[ApiServer, KubernetesApi],
) -> None:
    server, client = api
    held = pod()
    held["metadata"]["finalizers"] = ["example.org/held"]
    client.create(f"{HOME}/pods", held)
    client.delete(HOME)
    with pytest.raises(ForbiddenError, match="being terminated"):
        client.create(f"{HOME}/configmaps", config_map())
    assert client.get(HOME)["status"] == {"phase": "Terminating"}
    client.patch(f"{HOME}/pods/one", {"metadata": {"finalizers": None}})
    assert server.store.objects == {}


def test_a_list_whose_snapshot_was_forgotten_begins_anew(
    api: tuple[ApiServer, KubernetesApi], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, client = api
    monkeypatch.setattr("mlhub.backends.kubernetes.client.api.PAGE", 2)
    for number in range(5):
        server.store.create("nodes", "", node(f"n{number}"))
    with pytest.raises(ExpiredError):
        client.get(paths.NODES, **{"limit": "2", "continue": f"{server.store.oldest - 1}.2"})
    ask = client.get

    def forgetful(path: str, **query: str) -> Object:
        monkeypatch.setattr(client, "get", ask)
        answer = ask(path, **query)
        server.store.create("nodes", "", node("late"))
        server.store.forget_history()
        return answer

    monkeypatch.setattr(client, "get", forgetful)
    assert len(client.list(paths.NODES)[0]) == 6


def test_a_watch_reports_what_no_longer_fits_its_selector_as_deleted(api: tuple[ApiServer, KubernetesApi]) -> None:
    server, client = api
    labelled = config_map()
    labelled["metadata"]["labels"] = {"ours": "yes"}
    client.create(f"{HOME}/configmaps", labelled)
    since = str(server.store.version)
    client.patch(f"{HOME}/configmaps/settings", {"data": {"a": "1"}})
    client.patch(f"{HOME}/configmaps/settings", {"metadata": {"labels": None}})
    client.patch(f"{HOME}/configmaps/settings", {"data": {"a": "2"}})
    path = "/api/v1/configmaps"
    events = list(client.watch(path, since=since, seconds=1, on_open=lambda: None, labelSelector="ours"))
    assert [event["type"] for event in events] == ["MODIFIED", "DELETED", "BOOKMARK"]
    assert set(events[-1]["object"]) == {"kind", "metadata"}
