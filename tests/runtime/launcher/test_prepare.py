# SPDX-License-Identifier: Apache-2.0
"""Tests of what a pod does before its main process."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from mlhub.embedded.ports import free_port
from mlhub.runtime.launcher import pod_barrier, prepare
from mlhub.runtime.launcher.ingest_api import IngestApi
from mlhub.runtime.launcher.inputs import brought_before
from mlhub.runtime.launcher.pod_barrier import BarrierError, assemble
from mlhub.wire import environment as names
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import Input, PodSpec
from tests.backends.specs import gang

CONTENT = b"examples" * 100
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class _Store(BaseHTTPRequestHandler):
    seen: list[str] = []
    deleted: list[str] | None = []  # None: the platform does not know the question
    asked: list[list[str]] = []
    meanwhile: Callable[[], None] | None = None  # before the answer about deleted inputs

    def do_POST(self) -> None:
        self.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["sha256s"])
        if self.meanwhile is not None:
            self.meanwhile()
        self.send_response(404 if self.deleted is None else 200)
        self.end_headers()
        self.wfile.write(json.dumps({"sha256s": self.deleted}).encode())

    def do_GET(self) -> None:
        self.seen.append(f"{self.path} {self.headers['Authorization']}")
        self.send_response(200 if self.path.endswith(SHA256) else 404)
        self.end_headers()
        self.wfile.write(CONTENT)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def store() -> Iterator[str]:
    for found in (_Store.seen, _Store.asked):
        found.clear()
    _Store.deleted, _Store.meanwhile = [], None
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Store)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def pod_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pod's folder, as the backend lays it out; returns the gang's folder."""
    for name, text in (("token", "attempt-token"), ("secret", "00ff")):
        (tmp_path / name).write_text(text)
    for name, value in {
        names.ROLE: "worker",
        names.INDEX: "0",
        names.TOKEN_PATH: str(tmp_path / "token"),
        names.SECRET_PATH: str(tmp_path / "secret"),
        names.API_URL: "http://127.0.0.1:1",
        names.SPEC_PATH: str(tmp_path / "spec.json"),
    }.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "inputs").mkdir()
    return tmp_path


def run(folder: Path, item: Input) -> int:
    """The exit code of the gang's only worker."""
    launch = replace(gang(), inputs=(item,), start_timeout_s=1.0)
    addresses = {"master": "m:1", "servers": [], "members": {"worker-0": f"127.0.0.1:{free_port()}"}}
    (folder / "launch.json").write_text(launch.to_json())
    (folder / "addresses.json").write_text(json.dumps(addresses))
    return prepare.main(["--gang", str(folder), "--inputs", str(folder / "inputs")])


def test_inputs_are_fetched_with_the_attempts_token_once_for_all_pods_of_the_cache(
    pod_folder: Path, store: str
) -> None:
    item = Input("train.npz", SHA256, len(CONTENT), f"{store}/{SHA256}")
    for was_found in (False, True):
        assert run(pod_folder, item) == ExitCode.DONE
        assert [one.is_found for one in brought_before(pod_folder / "spec.json")] == [was_found]
    assert _Store.seen == [f"/{SHA256} Bearer attempt-token"]
    spec = PodSpec.from_json((pod_folder / "spec.json").read_text())
    assert spec.inputs[0].uri == (pod_folder / "inputs" / SHA256).as_uri()
    assert (pod_folder / "inputs" / SHA256).read_bytes() == CONTENT
    assert [p.name for p in (pod_folder / "inputs").iterdir()] == [SHA256]


GONE, KEPT = "a" * 64, "b" * 64


def cached(folder: Path, sha256: str) -> list[Path]:
    """An input with what was prepared of it, of an hour ago."""
    inputs = folder / "inputs"
    entry = inputs / "prepared" / f"{sha256}-{'0' * 64}"
    entry.mkdir(parents=True)
    (entry.parent / f".{entry.name}.lock").touch()
    (inputs / sha256).write_bytes(b"data")
    for path in (inputs / sha256, entry):
        os.utime(path, (path.stat().st_mtime - 3600,) * 2)
    return [inputs / sha256, entry]


def test_the_first_worker_removes_what_was_deleted_from_the_projects_volume(
    pod_folder: Path, store: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    item = Input("train.npz", SHA256, len(CONTENT), f"{store}/{SHA256}")
    monkeypatch.setenv(names.API_URL, store)
    assert run(pod_folder, item) == ExitCode.DONE
    assert _Store.asked == []  # there is nothing but its own input
    gone, kept = cached(pod_folder, GONE), cached(pod_folder, KEPT)
    _Store.deleted = [GONE, SHA256, "../../token"]
    assert run(pod_folder, item) == ExitCode.DONE
    assert _Store.asked == [[GONE, KEPT]]
    assert not any(path.exists() for path in gone)
    assert all(path.exists() for path in [*kept, pod_folder / "inputs" / SHA256, pod_folder / "token"])
    assert "removed 2 cached inputs" in capsys.readouterr().out
    assert not list((pod_folder / "inputs").glob("*.asked"))


def test_what_another_gang_uses_from_that_moment_on_stays(
    pod_folder: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(names.API_URL, store)
    paths, _Store.deleted = cached(pod_folder, GONE), [GONE]
    again = Input("train.npz", GONE, len(b"data"), f"{store}/{GONE}")
    used = IngestApi(store, "another", "token")
    _Store.meanwhile = lambda: prepare.cached(again, api=used, folder=pod_folder / "inputs") and None
    item = Input("train.npz", SHA256, len(CONTENT), f"{store}/{SHA256}")
    assert run(pod_folder, item) == ExitCode.DONE
    assert _Store.asked == [[GONE]]
    assert all(path.exists() for path in paths)


@pytest.mark.parametrize("is_away", [False, True])
def test_a_platform_that_cannot_say_what_was_deleted_keeps_no_pod_from_starting(
    pod_folder: Path, store: str, is_away: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(names.API_URL, "http://127.0.0.1:1" if is_away else store)
    paths, _Store.deleted = cached(pod_folder, GONE), None
    item = Input("train.npz", SHA256, len(CONTENT), f"{store}/{SHA256}")
    assert run(pod_folder, item) == ExitCode.DONE
    assert all(path.exists() for path in paths)
    assert "deleted inputs stay in the cache" in capsys.readouterr().out


def test_what_is_not_what_its_hash_says_never_enters_the_cache(
    pod_folder: Path, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    item = Input("train.npz", "0" * 64, len(CONTENT), f"{store}/{SHA256}")
    assert run(pod_folder, item) == ExitCode.INPUT_UNAVAILABLE
    assert "train.npz" in capsys.readouterr().out
    assert not (pod_folder / "inputs" / ("0" * 64)).exists()


def test_a_file_of_this_machine_is_read_in_place(pod_folder: Path) -> None:
    (pod_folder / "own.bin").write_bytes(CONTENT)
    item = Input("own", SHA256, len(CONTENT), (pod_folder / "own.bin").as_uri())
    assert run(pod_folder, item) == ExitCode.DONE
    assert PodSpec.from_json((pod_folder / "spec.json").read_text()).inputs == (item,)


def test_instructions_that_cannot_be_read_are_reported(pod_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (pod_folder / "launch.json").write_text("{}")
    assert prepare.main(["--gang", str(pod_folder), "--inputs", str(pod_folder)]) == ExitCode.BAD_SPEC
    assert "version" in capsys.readouterr().out


def test_the_barrier_opens_once_everyone_is_there() -> None:
    members = {name: f"127.0.0.1:{free_port()}" for name in ("worker-0", "worker-1", "server-0")}
    passed: list[str] = []

    def member(name: str) -> None:
        assemble(name, members, secret=b"s", timeout_s=120)
        passed.append(name)

    threads = [threading.Thread(target=member, args=(name,)) for name in members]
    for thread in threads[:2]:
        thread.start()
    threads[0].join(timeout=1.5)
    assert passed == []
    threads[2].start()
    for thread in threads:
        thread.join(timeout=600)
    assert sorted(passed) == sorted(members)


def test_the_barrier_says_who_is_missing() -> None:
    members = {name: f"127.0.0.1:{free_port()}" for name in ("worker-0", "worker-1")}
    with pytest.raises(BarrierError, match="worker-1"):
        assemble("worker-0", members, secret=b"s", timeout_s=0.1)


def test_a_stranger_does_not_count_as_a_member() -> None:
    members = {name: f"127.0.0.1:{free_port()}" for name in ("worker-0", "worker-1")}
    refused: list[str] = []

    def stranger() -> None:
        try:
            assemble("worker-1", members, secret=b"guessed", timeout_s=1)
        except BarrierError as error:
            refused.append(str(error))

    thread = threading.Thread(target=stranger)
    thread.start()
    with pytest.raises(BarrierError, match="worker-1"):
        assemble("worker-0", members, secret=b"s", timeout_s=1)
    thread.join()
    assert len(refused) == 1


def test_no_worker_waits_for_a_gang_of_one() -> None:
    assemble("worker-0", {"worker-0": "nowhere:1"}, secret=b"s", timeout_s=pod_barrier.RETRY_S)
