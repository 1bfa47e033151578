# SPDX-License-Identifier: Apache-2.0
"""`mlhub dataset push` of a large file: cut connections cost a piece, and a later run goes on where one ended."""

from __future__ import annotations

import hashlib
import os
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from mlhub.cli import session, uploads
from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.client import requests as client_requests
from mlhub.client.api import Api, Refused
from mlhub.client.synchronous import resumable
from mlhub.client.synchronous.transport import Transport
from mlhub.datasets.models import DatasetVersion
from mlhub.storage.models import ResumableUpload
from mlhub.tenants.actions import create_token
from tests.cast import Cast, make_cast
from tests.storage.tus_server import CuttingProxy, asgi_server

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
CONTENT = b"x,label\n" + b"".join(b"%d,%d\n" % (n, n % 2) for n in range(60_000))
PIECE = 100_000


@pytest.fixture
def cast(transactional_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cast:
    found = make_cast()
    _, token = create_token(found.bob, name="terminal", scopes=["read", "submit"], expires_in_days=1)
    monkeypatch.setenv("MLHUB_TOKEN", token)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(resumable, "PIECE_BYTES", PIECE)
    monkeypatch.setattr(uploads, "FROM_BYTES", PIECE)
    monkeypatch.setattr(uploads, "accepted", lambda _session, _collection, pk: _shown(pk))  # no worker inspects it
    return found


def _shown(pk: str) -> dict[str, Any]:
    version = DatasetVersion.objects.get(pk=pk)
    return {"id": pk, "number": version.number, "size_bytes": version.size_bytes, "state": version.state}


def _refuse_the_first(n: int, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next n requests by this method are answered 503."""
    left, exchange = [n], Transport.exchange

    def refuse(api: Transport, verb: str, *args: Any, **kwargs: Any) -> httpx.Response:
        if verb == method and left[0]:
            left[0] -= 1
            return httpx.Response(503)
        return exchange(api, verb, *args, **kwargs)

    monkeypatch.setattr(Transport, "exchange", refuse)


def test_a_push_survives_cuts_and_a_later_run_goes_on_where_it_was_given_up(
    cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(CONTENT)
    with asgi_server() as server:
        cutting = CuttingProxy(server, n_cuts=10**6, after_bytes=3 * PIECE)
        monkeypatch.setenv("MLHUB_URL", cutting.url)
        monkeypatch.setattr(session, "PATIENCE_S", 0.0)
        assert main(["dataset", "push", str(path)]) != CommandStatus.OK
        begun = ResumableUpload.objects.get()
        assert 0 < begun.offset_bytes < len(CONTENT)

        _refuse_the_first(2, "HEAD", monkeypatch)  # a platform that is away is not asked for another upload

        monkeypatch.setattr(session, "PATIENCE_S", 60.0)
        cutting.n_cuts = cutting.n_done + 1
        assert main(["dataset", "push", str(path)]) == CommandStatus.OK, capsys.readouterr().err
        cutting.close()
    assert not ResumableUpload.objects.exists()  # another one would have left the first behind
    assert DatasetVersion.objects.get().files[0]["sha256"] == hashlib.sha256(CONTENT).hexdigest()


@pytest.mark.slow
def test_64_mib_through_20_cuts_arrive_whole_and_are_no_version_before(
    cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(resumable, "PIECE_BYTES", 8 * 2**20)
    path, size, draw = tmp_path / "table.csv", 64 * 2**20, random.Random(16)
    with path.open("wb") as file:  # sparse, but for marks that show a piece at the wrong place
        for at in range(0, size - 4096, 999_983):
            file.seek(at)
            file.write(draw.randbytes(64))
        file.truncate(size)
    refusals = []
    with asgi_server() as server:
        direct = Api(server, os.environ["MLHUB_TOKEN"])

        def ask_for_a_version() -> None:
            (under_way,) = direct.get("/uploads")["results"]
            with pytest.raises(Refused) as refusal:
                direct.use_upload("/datasets", under_way["id"], name="early", project=cast.project_a.name)
            refusals.append(refusal.value.code)

        cutting = CuttingProxy(server, n_cuts=20, after_bytes=size // 30, on_cut=ask_for_a_version)
        monkeypatch.setenv("MLHUB_URL", cutting.url)
        assert main(["dataset", "push", str(path)]) == CommandStatus.OK, capsys.readouterr().err
        cutting.close()
    assert refusals == ["upload_incomplete"] * cutting.n_done == ["upload_incomplete"] * 20
    with path.open("rb") as file:
        assert DatasetVersion.objects.get().files[0]["sha256"] == hashlib.file_digest(file, "sha256").hexdigest()
    assert not ResumableUpload.objects.exists()


def test_a_piece_may_take_longer_than_a_person_waits_for_a_platform_that_is_away(
    cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(CONTENT)
    clock, exchange, n_cut = [0.0], Transport.exchange, [0]

    def send_slowly(api: Transport, verb: str, *args: Any, **kwargs: Any) -> httpx.Response:
        answer = exchange(api, verb, *args, **kwargs)
        if verb == "PATCH":
            clock[0] += 10 * session.PATIENCE_S
            n_cut[0] += 1
            raise httpx.WriteError("the connection was cut")
        return answer

    monkeypatch.setattr(Transport, "exchange", send_slowly)
    monkeypatch.setattr(client_requests, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    with asgi_server() as server:
        monkeypatch.setenv("MLHUB_URL", server)
        assert main(["dataset", "push", str(path)]) == CommandStatus.OK, capsys.readouterr().err
    assert n_cut[0] == -(-len(CONTENT) // PIECE)
    assert DatasetVersion.objects.get().files[0]["sha256"] == hashlib.sha256(CONTENT).hexdigest()
