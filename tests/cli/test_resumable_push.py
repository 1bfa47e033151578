# SPDX-License-Identifier: Apache-2.0
"""`mlhub dataset push` of a large file: cut connections cost a piece, and a later run goes on where one ended."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import httpx
import pytest

from mlhub.cli import session, uploads
from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.client.synchronous import resumable
from mlhub.client.synchronous.transport import Transport
from mlhub.datasets.models import DatasetVersion
from mlhub.storage.models import ResumableUpload
from mlhub.tenants.actions import create_token
from tests.cast import Cast, make_cast
from tests.storage.tus_server import CuttingProxy, asgi_server

pytestmark = pytest.mark.django_db(transaction=True)
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
