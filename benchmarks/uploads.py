# SPDX-License-Identifier: Apache-2.0
"""A large dataset through connections that are cut: python -m benchmarks.uploads [--gib 10 --cuts 50] [--out FILE]

Writes benchmarks/results/uploads.md. A platform in a folder of its own gets a sparse file of the WebDataset layout
through a proxy that cuts connections: by plain tus, all that is left in one request, then by `mlhub dataset push`. At
each cut a version is asked for, which must be refused. The folder needs room for twice the size.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import hashlib
import http.client
import os
import platform
import random
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from PIL import Image

from mlhub.client.api import Api, Refused
from tests.platform import RunningPlatform, running
from tests.storage.tus_server import CuttingProxy

PAGE = Path(__file__).parent / "results" / "uploads.md"
GIB = 2**30
N_SAMPLES, N_MARKS, MARK_BYTES = 40, 997, 64
SAMPLE_EVERY_S = 0.25
PAUSE_S = 0.2  # after a cut
SENT_AT_ONCE_BYTES = 2**20
TUS = {"Tus-Resumable": "1.0.0"}
TEXT = """# A large dataset through cut connections

`python -m benchmarks.uploads --gib {gib:g} --cuts {n_cuts}`, {when}, {where}; the client, the proxy and the platform
share them. A sparse file of {size:,} bytes (WebDataset, with random marks) goes through a proxy on this machine
that cuts connections.

{table}

Web memory: the resident set before and at its most. Disk: by how much the platform's store grew at its most, and what
of it stays: none of the second file, whose content is the first one's.
SHA-256 of the same file, read once by this benchmark: {hash_s:.0f} s.

{findings}
"""


@dataclass(frozen=True)
class MeasuredUpload:
    """One way of sending. n_early: versions that were asked for while bytes were missing, all refused."""

    way: str
    n_cuts: int
    n_early: int
    sent_bytes: int
    sent_s: float
    stored_s: float | None  # None where it is part of the command
    ready_s: float
    memory_bytes: tuple[int, int]
    processor_s: float
    disk_bytes: tuple[int, int]


class WebProcess:
    """What the web process and the platform's store take, sampled in a thread while the block runs."""

    def __init__(self, served: RunningPlatform) -> None:
        self._pid, self._store = served.pids()["web"], served.home / "blobs"
        self._is_over = threading.Event()

    def __enter__(self) -> WebProcess:
        self._processor_s, self._disk = self._processor(), self._stored()
        self.memory_bytes, self.disk_bytes = (self._memory(), 0), (0, 0)
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._look()
        self.processor_s = self._processor() - self._processor_s

    def _watch(self) -> None:
        while not self._is_over.wait(SAMPLE_EVERY_S):
            self._look()

    def _look(self) -> None:
        grown = self._stored() - self._disk
        self.memory_bytes = (self.memory_bytes[0], max(self.memory_bytes[1], self._memory()))
        self.disk_bytes = (max(self.disk_bytes[0], grown), grown)

    def _memory(self) -> int:
        return int(Path(f"/proc/{self._pid}/status").read_text().partition("VmRSS:")[2].split()[0]) * 1024

    def _processor(self) -> float:
        fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _stored(self) -> int:
        """A file with several names counts once."""
        found: dict[int, int] = {}
        for path in self._store.rglob("*"):
            with contextlib.suppress(FileNotFoundError):
                status = path.lstat()
                found[status.st_ino] = status.st_blocks * 512
        return sum(found.values())


def write_shards(path: Path, *, size_bytes: int) -> None:
    """Samples that inspection accepts; the last one has a large sparse file with marks, which it does not read."""
    draw = random.Random(16)
    with path.open("wb") as file:
        for i in range(N_SAMPLES):
            picture = BytesIO()
            Image.new("RGB", (8, 8), (draw.randrange(256), 128, 255 * (i % 2))).save(picture, "PNG")
            for name, content in ((f"{i:03}.png", picture.getvalue()), (f"{i:03}.cls", b"%d" % (i % 2))):
                _write_header(file, name, len(content))
                file.write(content.ljust(-(-len(content) // 512) * 512, b"\0"))
        n_padding = size_bytes // 512 * 512 - file.tell() - 4096
        _write_header(file, f"{N_SAMPLES - 1:03}.padding", n_padding)
        begin = file.tell()
        for i in range(N_MARKS):
            file.seek(begin + i * (n_padding - MARK_BYTES) // N_MARKS)
            file.write(draw.randbytes(MARK_BYTES))
        file.truncate(size_bytes // 512 * 512)


def _write_header(file: BinaryIO, name: str, size_bytes: int) -> None:
    info = tarfile.TarInfo(name)
    info.size = size_bytes
    file.write(info.tobuf(tarfile.PAX_FORMAT))


def send_by_tus(url: str, token: str, path: Path, *, project: str, until: int | None = None, upload: str = "") -> str:
    """Sends a file to its end, or until that offset, by one request for all that is left after each cut; returns the
    upload's id, which goes on with one that is given."""
    size = path.stat().st_size
    if not upload:
        pairs = (("filename", path.name), ("project", project))
        metadata = ",".join(f"{key} {base64.b64encode(value.encode()).decode()}" for key, value in pairs)
        headers = {"Upload-Length": str(size), "Upload-Metadata": metadata}
        upload = _asked(url, token, "POST", "/api/v1/uploads", headers)["Location"].rpartition("/")[2]
    address, offset = f"/api/v1/uploads/{upload}", 0
    with path.open("rb") as file:
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):  # cut, or not let go of by the platform yet
                offset = int(_asked(url, token, "HEAD", address, {})["Upload-Offset"])
                if offset >= (until or size):
                    return upload
                file.seek(offset)
                headers = {
                    "Upload-Offset": str(offset),
                    "Content-Type": "application/offset+octet-stream",
                    "Content-Length": str((until or size) - offset),
                }
                _asked(url, token, "PATCH", address, headers, _pieces(file, (until or size) - offset))
                continue
            time.sleep(PAUSE_S)


def _pieces(file: BinaryIO, n_bytes: int) -> Iterator[bytes]:
    while n_bytes and (piece := file.read(min(n_bytes, SENT_AT_ONCE_BYTES))):
        n_bytes -= len(piece)
        yield piece


def _asked(
    url: str, token: str, verb: str, path: str, headers: dict[str, str], body: Iterator[bytes] | None = None
) -> http.client.HTTPMessage:
    """The headers of the answer. Raises HTTPException for a refusal, OSError for a cut."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=600)
    with contextlib.closing(connection):
        connection.request(verb, path, body, {**TUS, "Authorization": f"Bearer {token}", **headers})
        answer = connection.getresponse()
        if answer.status >= 300:
            raise http.client.HTTPException(f"{verb} {path}: HTTP {answer.status}")
        return answer.headers


class EarlyVersions:
    """Asks for a version of what is under way, each time it is called; counts the refusals."""

    def __init__(self, api: Api, *, project: str) -> None:
        self._api, self._project, self.n_refused = api, project, 0

    def __call__(self) -> None:
        (under_way,) = self._api.get("/uploads")["results"]
        try:
            self._api.use_upload("/datasets", under_way["id"], name="early", project=self._project)
        except Refused as refusal:
            if refusal.code != "upload_incomplete":
                raise
            self.n_refused += 1


def measure(
    served: RunningPlatform, token: str, path: Path, *, sha256: str, project: str, n_cuts: int, is_pushed: bool
) -> MeasuredUpload:
    """Sends the file by one of the two ways, until its version is ready. Raises RuntimeError when it differs."""
    api, name = Api(served.url, token), "pushed" if is_pushed else "sent"
    early = EarlyVersions(api, project=project)
    after_bytes = path.stat().st_size // (n_cuts + 10)
    proxy = CuttingProxy(served.url, n_cuts=n_cuts, after_bytes=after_bytes, on_cut=early)
    stored_s = None
    with WebProcess(served) as web, contextlib.closing(proxy):
        began = time.monotonic()
        if is_pushed:
            _push(served, proxy.url, token, path, name=name, project=project)
            sent_s = time.monotonic() - began
        else:
            upload = send_by_tus(proxy.url, token, path, project=project, until=path.stat().st_size - 1)
            early()  # with one byte missing
            send_by_tus(proxy.url, token, path, project=project, upload=upload)
            sent_s = time.monotonic() - began
            api.use_upload("/datasets", upload, name=name, project=project)
            stored_s = time.monotonic() - began - sent_s
        (dataset,) = api.get("/datasets", name=name)["results"]
        version = _inspected(api, dataset["latest_version"]["id"])
        ready_s = time.monotonic() - began
    if (version["state"], version["files"][0]["sha256"]) != ("ready", sha256) or proxy.n_done != n_cuts:
        raise RuntimeError(f"after {proxy.n_done} cuts the version is {version['state']}: {version['error']}")
    if api.get("/datasets", name="early")["results"] or api.get("/uploads")["results"]:
        raise RuntimeError("a version was made before all had arrived, or an upload is left")
    return MeasuredUpload(
        "`mlhub dataset push`" if is_pushed else "tus", proxy.n_done, early.n_refused, proxy.n_sent_bytes, sent_s,
        stored_s, ready_s, web.memory_bytes, web.processor_s, web.disk_bytes,
    )  # fmt: skip


def _push(served: RunningPlatform, url: str, token: str, path: Path, *, name: str, project: str) -> None:
    variables = {**os.environ, "MLHUB_URL": url, "MLHUB_TOKEN": token, "XDG_CACHE_HOME": str(served.home / "cache")}
    command = ["--project", project, "dataset", "push", str(path), "--name", name]
    done = subprocess.run([sys.executable, "-m", "mlhub.cli", *command], env=variables, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])


def _inspected(api: Api, version_id: str) -> dict[str, object]:
    while True:
        version: dict[str, object] = api.get(f"/dataset-versions/{version_id}")
        if version["state"] != "inspecting":
            return version
        time.sleep(0.2)


def page(rows: Sequence[MeasuredUpload], *, size_bytes: int, hash_s: float, gib: float) -> str:
    columns: dict[str, Callable[[MeasuredUpload], str]] = {
        "way": lambda row: row.way,
        "cuts": lambda row: f"{row.n_cuts}",
        "versions refused meanwhile": lambda row: f"{row.n_early}",
        "sent, s": lambda row: f"{row.sent_s:.0f}",
        "MB/s": lambda row: f"{size_bytes / row.sent_s / 1e6:.0f}",
        "sent twice, MB": lambda row: f"{(row.sent_bytes - size_bytes) / 1e6:.0f}",
        "version made, s": lambda row: "in it" if row.stored_s is None else f"{row.stored_s:.1f}",
        "ready after, s": lambda row: f"{row.ready_s:.0f}",
        "web memory, MB": lambda row: " to ".join(f"{n / 1e6:.0f}" for n in row.memory_bytes),
        "web processor, s": lambda row: f"{row.processor_s:.0f}",
        "disk, GiB": lambda row: " and ".join(f"{n / GIB:.2f}" for n in row.disk_bytes),
    }
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    lines += [f"| {' | '.join(cell(row) for cell in columns.values())} |" for row in rows]
    findings = "Both files arrived with the SHA-256 of what was sent, and no version was made before the last byte."
    where = f"{platform.machine()}, {os.cpu_count()} processors"
    return TEXT.format(
        gib=gib, n_cuts=rows[0].n_cuts, when=f"{datetime.now(UTC):%Y-%m-%d}", where=where, size=size_bytes,
        table="\n".join(lines), hash_s=hash_s, findings=findings,
    )  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.uploads")
    parser.add_argument("--gib", type=float, default=10.0)
    parser.add_argument("--cuts", type=int, default=50)
    parser.add_argument("--folder", type=Path, help="where the platform and the file are while this runs")
    parser.add_argument("--out", type=Path, default=PAGE)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / "shards.tar"
        write_shards(path, size_bytes=int(given.gib * GIB))
        began = time.monotonic()
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        hash_s = time.monotonic() - began
        place = Path(folder) / "platform"
        place.mkdir()
        with running(place) as served:
            person = served.person("bob", organisation="Uploads")
            token = person.post("/tokens", name="uploads", scopes=["read", "submit"])["token"]
            project = person.post("/projects", organisation=person.organisation["id"], name="uploads")["name"]
            known = {"sha256": sha256, "project": project, "n_cuts": given.cuts}
            rows = [measure(served, token, path, is_pushed=is_pushed, **known) for is_pushed in (False, True)]
        text = page(rows, size_bytes=path.stat().st_size, hash_s=hash_s, gib=given.gib)
    given.out.write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
