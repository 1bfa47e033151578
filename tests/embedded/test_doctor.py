# SPDX-License-Identifier: Apache-2.0
"""The installation's checks, against real servers: what works is ok, and each failure names its remedy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from tempfile import gettempdir
from typing import Any

import psycopg2
import pytest
import yaml
from celery import Celery
from celery.contrib.testing.worker import start_worker
from celery.worker.control import Panel

from mlhub.backends.local.gpu_driver import GpuReading
from mlhub.cli.app import main as run_command
from mlhub.embedded import __main__ as entry
from mlhub.embedded.checks import doctor, gpu_check
from mlhub.embedded.checks.doctor import CheckResult, examine
from mlhub.embedded.home import Home, Platform
from mlhub.runtime.sandbox.capabilities import Capabilities, report_of
from mlhub.runtime.sandbox.isolation import Isolation
from tests.platform import ROOT

GONE = "postgresql://x@127.0.0.1:1/x"


class Web(HTTPServer):
    """Answers as the platform's web server would; statuses by path."""

    statuses: dict[str, int]


class Answer(BaseHTTPRequestHandler):
    server: Web

    def do_GET(self) -> None:
        self.send_response(self.server.statuses.get(self.path, 404))
        self.end_headers()
        self.wfile.write(b'{"status": "stopped"}')

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def web() -> Iterator[Web]:
    server = Web(("127.0.0.1", 0), Answer)
    server.statuses = {"/healthz": 200, "/healthz/rounds": 200}
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    found = Home(tmp_path / "home")
    found.prepare()
    found.secret("django")
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder.is_relative_to(gettempdir()):
            folder.chmod(folder.stat().st_mode | 0o111)
    return found


PING_S = doctor.PING_S
CHECKS = [
    "database",
    "valkey",
    "workers",
    "audit",
    "clock",
    "web",
    "rounds",
    "nodes",
    "sandbox",
    "gpus",
    "disk",
    "folder",
]


@pytest.fixture(autouse=True)
def _short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests in which no worker is there to answer."""
    monkeypatch.setattr(doctor, "PING_S", min(2.0, PING_S))


@pytest.fixture
def _whole_platform(servers: Any, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(psycopg2.connect(servers.database_url)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute("CREATE TABLE IF NOT EXISTS django_migrations (id int)")
            cursor.execute("DROP TABLE IF EXISTS clusters_node")
            cursor.execute("CREATE TABLE clusters_node (name text, is_ready bool, message text)")
            cursor.execute("INSERT INTO clusters_node VALUES ('lab-1', true, '')")
    monkeypatch.setenv("DATABASE_URL", servers.database_url)
    monkeypatch.setenv("REDIS_URL", servers.redis_url)
    monkeypatch.setenv("MLHUB_PUBLIC_URL", f"http://127.0.0.1:{web.server_port}")


def sandbox(*, has_filter: bool = True) -> Capabilities:
    return report_of(Isolation(True, True, False, has_filter), (), landlock_version=0)


def found(home: Home, **how: Any) -> dict[str, CheckResult]:
    results = list(examine(home, sandbox=lambda: sandbox(**how), gpus=lambda: None))
    assert all(result.remedy for result in results if not result.is_ok)
    return {result.name: result for result in results}


@pytest.mark.usefixtures("_whole_platform")
def test_a_platform_that_works_fails_no_check(home: Home, servers: Any) -> None:
    with Celery(broker=servers.redis_url) as app, start_worker(app, perform_ping_check=False):
        results = found(home)
    assert {name: result.is_ok for name, result in results.items()} == dict.fromkeys(CHECKS, True)
    assert "landlock" in results["sandbox"].detail


@pytest.mark.usefixtures("_whole_platform")
def test_a_database_that_takes_no_changes_fails(home: Home, servers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", f"{servers.database_url}?options=-c%20default_transaction_read_only%3Don")
    result = found(home)["database"]
    assert (result.is_ok, result.detail) == (False, "It takes no changes: it is read-only.")
    assert "DATABASE_URL" in result.remedy


@pytest.mark.usefixtures("_whole_platform")
@pytest.mark.parametrize(("skew_s", "words"), [(90.0, "90 s ahead of"), (-3600.0, "3600 s behind")])
def test_a_clock_that_is_wrong_fails(home: Home, monkeypatch: pytest.MonkeyPatch, skew_s: float, words: str) -> None:
    now = time.time
    monkeypatch.setattr(doctor.time, "time", lambda: now() + skew_s)
    result = doctor.check_clock(os.environ["DATABASE_URL"])
    assert not result.is_ok
    assert f"This machine's clock is {words} the database's." == result.detail
    assert "NTP" in result.remedy


@pytest.mark.usefixtures("_whole_platform")
def test_workers_that_do_not_answer_fail_and_a_platform_that_runs_is_started_again(home: Home, servers: Any) -> None:
    home.write_platform(Platform("http://127.0.0.1:1", "", servers.redis_url, {"supervisor": os.getpid()}))
    result = found(home)["workers"]
    assert (result.is_ok, result.detail) == (False, "No worker answers within 2 s: uploads and new jobs wait.")
    assert "mlhub.embedded down" in result.remedy


@pytest.mark.usefixtures("_whole_platform")
def test_a_worker_that_is_only_slow_to_answer_passes(servers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: Any, **__: Any) -> dict[str, str]:
        time.sleep(5.0)
        return {"ok": "pong"}

    monkeypatch.setattr(doctor, "PING_S", PING_S)
    with Celery(broker=servers.redis_url) as app, start_worker(app, perform_ping_check=False):
        monkeypatch.setitem(Panel.data, "ping", slow)
        assert doctor.check_workers(servers.redis_url, remedy="").is_ok


@pytest.mark.usefixtures("_whole_platform")
def test_rounds_that_have_stopped_fail(home: Home, web: Web) -> None:
    web.statuses["/healthz/rounds"] = 503
    results = found(home)
    assert (results["web"].is_ok, results["rounds"].is_ok) == (True, False)
    assert "control.log" in results["rounds"].remedy


@pytest.mark.usefixtures("_whole_platform")
def test_each_node_that_is_not_ready_is_named_with_its_reason(home: Home, servers: Any) -> None:
    with closing(psycopg2.connect(servers.database_url)) as connection:
        connection.autocommit = True
        connection.cursor().execute("INSERT INTO clusters_node VALUES ('lab-2', false, 'Its folder is away.')")
    result = found(home)["nodes"]
    assert not result.is_ok
    assert result.detail == "lab-2 is not ready: Its folder is away."
    assert "mlhub agent ls" in result.remedy


def test_what_does_not_answer_fails_with_the_command_that_starts_it(home: Home, monkeypatch: Any) -> None:
    monkeypatch.setenv("DATABASE_URL", GONE)
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("MLHUB_PUBLIC_URL", "http://127.0.0.1:1")
    results = found(home)
    for name in ("database", "valkey", "web"):
        assert not results[name].is_ok
        assert "mlhub.embedded up" in results[name].remedy


def test_a_port_that_another_program_has_is_named(home: Home, web: Web, monkeypatch: Any) -> None:
    monkeypatch.delenv("MLHUB_PUBLIC_URL", raising=False)
    monkeypatch.setenv("MLHUB_PORT", str(web.server_port))
    result = found(home)["web"]
    assert str(web.server_port) in result.detail
    assert "MLHUB_PORT" in result.remedy


def test_a_sandbox_that_does_not_separate_fails_with_its_consequence(home: Home) -> None:
    result = found(home, has_filter=False)["sandbox"]
    assert not result.is_ok
    assert "every system call" in result.detail
    assert "libseccomp2" in result.remedy


def test_a_full_disk_of_the_database_alone_fails_by_its_name(home: Home, monkeypatch: Any) -> None:
    database, usage = home.path / "pg18", shutil.disk_usage(home.path)
    database.mkdir(exist_ok=True)
    plain = Path.stat

    def stat_of_two_disks(path: Path, **how: Any) -> Any:
        found = plain(path, **how)
        return os.stat_result([*found[:2], found.st_dev + 1, *found[3:]]) if path == database else found

    monkeypatch.setattr(Path, "stat", stat_of_two_disks)
    free = {database: 0}
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: usage._replace(free=free.get(path, 2**40)))
    result = found(home)["disk"]
    assert not result.is_ok
    assert str(database) in result.detail
    assert "move it to a larger disk" in result.remedy


def test_a_full_disk_fails(home: Home, monkeypatch: Any) -> None:
    usage = shutil.disk_usage(home.path)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: usage._replace(free=2**20))
    result = found(home)["disk"]
    assert not result.is_ok
    assert "MLHUB_HOME" in result.remedy


def test_a_valkey_that_cannot_write_down_what_it_is_given_asks_for_room_and_for_no_restart(home: Home) -> None:
    refusal = b"-MISCONF Errors writing to the AOF file: No space left on device\r\n"

    class Full(StreamRequestHandler):
        def handle(self) -> None:
            while line := self.rfile.readline():
                if line.startswith(b"*"):
                    self.wfile.write(refusal)

    with ThreadingTCPServer(("127.0.0.1", 0), Full) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"redis://127.0.0.1:{server.server_address[1]}/0"
        checks = [doctor.check_valkey(url, remedy="restart"), doctor.check_workers(url, remedy="restart")]
        server.shutdown()
    assert [(one.is_ok, one.remedy) for one in checks] == [(False, doctor.MAKE_ROOM)] * 2


def test_a_store_that_is_no_folder_any_more_fails(home: Home) -> None:
    (home.path / "blobs").rmdir()
    (home.path / "blobs").touch()
    result = found(home)["folder"]
    assert not result.is_ok
    assert str(home.path / "blobs") in result.detail


@pytest.mark.parametrize(("name", "mode"), [("secrets", 0o755), ("secrets/django", 0o644), (".", 0o777)])
def test_a_folder_that_others_may_reach_fails_with_the_command_that_mends_it(home: Home, name: str, mode: int) -> None:
    (home.path / name).chmod(mode)
    result = found(home)["folder"]
    assert not result.is_ok
    assert result.remedy.startswith("chmod")


def test_the_command_prints_json_on_demand_and_ends_with_1_when_a_check_fails(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = CheckResult("disk", False, "1 MiB is free.", "Make room.")
    monkeypatch.setattr(doctor, "examine", lambda _: iter([CheckResult("web", True, "It answers."), failed]))
    assert run_command(["-o", "json", "doctor"]) == 1
    assert json.loads(capsys.readouterr().out)[1] == {
        "name": "disk", "state": "problem", "detail": "1 MiB is free.", "remedy": "Make room."
    }  # fmt: skip


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_whether_a_platform_runs_and_its_variables_are_printed_as_data(
    home: Home, form: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLHUB_HOME", str(home.path))
    own = Platform("http://127.0.0.1:1", "postgresql://there", "redis://there", {"supervisor": os.getpid()})
    home.write_platform(replace(own, pids={"supervisor": 2**22 + 1}))  # of no process
    assert run_command(["-o", form, "status"]) == entry.NOT_RUNNING
    stopped = {"is_running": False, "home": str(home.path), "url": None, "processes": {}}
    assert yaml.safe_load(capsys.readouterr().out) == stopped
    home.write_platform(own)
    assert run_command(["-o", form, "status"]) == 0
    running = {"is_running": True, "url": own.url, "processes": own.pids}
    assert yaml.safe_load(capsys.readouterr().out) == stopped | running
    assert run_command(["-o", form, "env"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["MLHUB_PUBLIC_URL"]


@pytest.mark.slow
def test_the_command_ends_with_1_when_a_check_fails(home: Home) -> None:
    environment = {**os.environ, "MLHUB_HOME": str(home.path), "DATABASE_URL": GONE}
    done = subprocess.run(
        [sys.executable, "-m", "mlhub.embedded", "doctor"], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "FAIL  database" in done.stdout
    assert "Remedy: Start the platform" in done.stdout


class OneGpu:
    """A driver that shows a GPU; its device file is not there."""

    def read(self) -> list[GpuReading]:
        return [GpuReading("GPU-1", "H100", 7, 80 * 2**30, 0)]


def gpus(home: Home) -> CheckResult:
    (found,) = [r for r in examine(home, gpus=OneGpu) if r.name == "gpus"]
    return found


def test_a_gpu_on_which_cuda_does_not_start_in_the_sandbox_fails_with_what_it_said(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_check, "torch_has_cuda", lambda: True)
    monkeypatch.setattr(gpu_check, "START_CUDA", "import sys; sys.exit('cuInit: error 304')")
    found = gpus(home)
    assert not found.is_ok
    assert found.detail == "CUDA does not start in a pod's sandbox: cuInit: error 304"
    assert "MLHUB_GPUS=none" in found.remedy
    monkeypatch.setattr(gpu_check, "START_CUDA", "")
    assert gpus(home).detail == "1 (H100); CUDA starts in a pod's sandbox."


def test_gpus_beside_a_torch_without_cuda_fail(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_check, "torch_has_cuda", lambda: False)
    assert gpus(home).detail == "The torch that is installed was built without CUDA."
    monkeypatch.setenv("MLHUB_GPUS", "none")
    assert gpus(home).is_ok


def test_how_torch_was_built_is_read_from_its_own_file() -> None:
    import torch

    assert gpu_check.torch_has_cuda() is torch.backends.cuda.is_built()


class NoPlatform:
    """In place of the supervisor: nothing is started."""

    url, environment = "http://127.0.0.1:1", dict[str, str]()

    def __init__(self, home: Home, **_: Any) -> None: ...

    def __enter__(self) -> NoPlatform:
        return self

    def __exit__(self, *_: object) -> None: ...

    def start(self) -> None: ...

    def watch(self) -> None: ...


def test_a_start_says_why_gpus_cannot_be_used(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(entry, "Supervisor", NoPlatform)
    monkeypatch.setattr(entry, "read_setup_code", lambda *_: "")
    monkeypatch.setattr(entry, "nvml_driver", OneGpu)
    monkeypatch.setattr(gpu_check, "torch_has_cuda", lambda: False)
    assert entry.main(["up"]) == 0
    assert "The torch that is installed was built without CUDA." in capsys.readouterr().out
    monkeypatch.setattr(entry, "nvml_driver", lambda: None)
    entry.main(["up"])
    assert "gpus" not in capsys.readouterr().out
