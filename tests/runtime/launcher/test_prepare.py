# SPDX-License-Identifier: Apache-2.0
"""Tests of what a pod does before its main process."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from mlhub.embedded.ports import free_port
from mlhub.runtime.launcher import pod_barrier, prepare
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

    def do_GET(self) -> None:
        self.seen.append(f"{self.path} {self.headers['Authorization']}")
        self.send_response(200 if self.path.endswith(SHA256) else 404)
        self.end_headers()
        self.wfile.write(CONTENT)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def store() -> Iterator[str]:
    _Store.seen.clear()
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
