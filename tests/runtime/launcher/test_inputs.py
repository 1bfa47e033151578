# SPDX-License-Identifier: Apache-2.0
"""Tests of fetching inputs: on from where a connection broke off, and by way of an object store without our token."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from mlhub.runtime.data.node_cache import NodeCache
from mlhub.runtime.launcher import inputs
from mlhub.runtime.launcher.ingest_api import IngestApi
from mlhub.runtime.launcher.inputs import BroughtInput, InputUnavailableError, bring, bring_cached
from mlhub.wire.launch import Input

CONTENT = bytes(range(256)) * 4000
ITEM = Input("data", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT), "")


@dataclass
class Servers:
    """The API at /api, which points to the object store at /bucket. breaks: so many answers end half way."""

    url: str = ""
    breaks: int = 0
    seen: list[tuple[str, str | None, str | None]] = field(default_factory=list)  # path, token, range


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Servers]:
    found = Servers()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers["Range"]
            found.seen.append((self.path, self.headers["Authorization"], asked))
            if self.path == "/api":
                self.send_response(307)
                self.send_header("Location", f"{found.url}/bucket")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            first = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
            self.send_response(206 if asked else 200)
            self.send_header("Content-Length", str(len(CONTENT) - first))
            self.end_headers()
            half = (first + len(CONTENT)) // 2
            self.wfile.write(CONTENT[first : half if found.breaks > 0 else None])
            found.breaks -= 1

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    found.url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(inputs.time, "sleep", lambda _: None)
    yield found
    server.shutdown()
    server.server_close()


def fetched(servers: Servers, folder: Path) -> bytes:
    item = Input(ITEM.name, ITEM.sha256, ITEM.size_bytes, f"{servers.url}/api")
    found = bring((item,), api=IngestApi(servers.url, "attempt", "the-token"), folder=folder)
    return found["data"].read_bytes()


def test_an_object_store_never_sees_the_attempts_token(servers: Servers, tmp_path: Path) -> None:
    assert fetched(servers, tmp_path) == CONTENT
    assert servers.seen == [("/api", "Bearer the-token", None), ("/bucket", None, None)]


def test_what_broke_off_goes_on_where_it_was(servers: Servers, tmp_path: Path) -> None:
    servers.breaks = 2
    assert fetched(servers, tmp_path) == CONTENT
    ranges = [asked for path, _, asked in servers.seen if path == "/bucket"]
    half = len(CONTENT) // 2
    assert ranges == [None, f"bytes={half}-", f"bytes={half + half // 2}-"]


def test_what_never_comes_whole_is_given_up(servers: Servers, tmp_path: Path) -> None:
    servers.breaks = 99
    with pytest.raises(InputUnavailableError, match="bytes are missing"):
        fetched(servers, tmp_path)


def brought(servers: Servers, home: Path, pod: str) -> tuple[Path, list[BroughtInput]]:
    """By a pod of a machine, whose cache is in its home."""
    item = Input(ITEM.name, ITEM.sha256, ITEM.size_bytes, f"{servers.url}/api")
    api, cache = IngestApi(servers.url, "attempt", "the-token"), NodeCache(home / "cache")
    paths, found = bring_cached((item,), api=api, cache=cache, folder=home / pod)
    cache.close()
    return paths["data"], found


def test_the_next_pod_of_the_machine_finds_what_one_fetched_and_both_say_so(servers: Servers, tmp_path: Path) -> None:
    path, (first,) = brought(servers, tmp_path, "pod-1")
    assert (first.sha256, first.is_found) == (ITEM.sha256, False)
    again, (second,) = brought(servers, tmp_path, "pod-2")
    assert (again, again.read_bytes(), second.is_found) == (path, CONTENT, True)
    assert [path for path, *_ in servers.seen] == ["/api", "/bucket"]
    assert path.stat().st_mode & 0o222 == 0  # no program of a job writes to it by mistake


def test_what_is_damaged_or_gone_from_the_cache_is_fetched(servers: Servers, tmp_path: Path) -> None:
    path, _ = brought(servers, tmp_path, "pod-1")
    path.chmod(0o644)
    path.write_bytes(CONTENT[:-1])
    again, (found,) = brought(servers, tmp_path, "pod-2")
    assert (again.read_bytes(), found.is_found) == (CONTENT, False)
    shutil.rmtree(tmp_path / "cache")
    again, (found,) = brought(servers, tmp_path, "pod-3")
    assert (again.read_bytes(), found.is_found) == (CONTENT, False)


def test_what_a_pod_left_under_an_entrys_name_ends_no_later_pod(servers: Servers, tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / ITEM.sha256).mkdir(parents=True)
    (tmp_path / "cache").mkdir()
    entry, lock = (tmp_path / "cache" / name for name in (f"{ITEM.sha256}.input", f".{ITEM.sha256}.input.lock"))
    plants = [
        lambda: entry.symlink_to(tmp_path / "elsewhere"),
        lambda: entry.symlink_to("/nowhere"),
        lambda: entry.write_bytes(CONTENT),
        lambda: lock.symlink_to(tmp_path / "elsewhere"),
        lambda: (lock / "full").mkdir(parents=True),
        lambda: os.mkfifo(lock),
        lambda: [entry.mkdir(), (entry / ITEM.sha256).symlink_to(tmp_path / "data")],
    ]
    (tmp_path / "data").write_bytes(CONTENT[::-1])
    for number, plant in enumerate(plants):
        shutil.rmtree(tmp_path / "cache")
        (tmp_path / "cache").mkdir()
        plant()
        path, _ = brought(servers, tmp_path, f"pod-{number}")
        assert path.read_bytes() == CONTENT, number
        assert not path.is_symlink()


def test_a_file_of_this_machine_is_used_where_it_is_and_nothing_is_said_of_it(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(CONTENT)
    item = Input(ITEM.name, ITEM.sha256, ITEM.size_bytes, (tmp_path / "data").as_uri())
    api, cache = IngestApi("http://127.0.0.1:1", "attempt", "the-token"), NodeCache(tmp_path / "cache")
    assert bring_cached((item,), api=api, cache=cache, folder=tmp_path) == ({"data": tmp_path / "data"}, [])


def test_what_never_comes_whole_is_not_cached(servers: Servers, tmp_path: Path) -> None:
    servers.breaks = 99
    with pytest.raises(InputUnavailableError, match="bytes are missing"):
        brought(servers, tmp_path, "pod-1")
    servers.breaks = 0
    path, (found,) = brought(servers, tmp_path, "pod-2")
    assert (path.read_bytes(), found.is_found) == (CONTENT, False)
