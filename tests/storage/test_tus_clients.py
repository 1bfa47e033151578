# SPDX-License-Identifier: Apache-2.0
"""Unchanged clients of tus send through connections that are cut; what arrives is what was sent."""

from __future__ import annotations

import gc
import hashlib
import json
import random
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tusclient.client import TusClient

from mlhub.storage.models import ResumableUpload
from mlhub.storage.resumable import begin
from mlhub.storage.stores import blob_store
from mlhub.storage.streamed_uploads import PIECE_BYTES, PIECE_TYPE
from mlhub.tenants.actions import create_token
from tests.cast import Cast, make_cast
from tests.storage.tus_server import CuttingProxy, asgi_server, project_metadata

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
N_CUTS = 50
CONTENT = random.Random(16).randbytes(12 * 2**20)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
ROOT = Path(__file__).resolve().parents[2]
NODE = Path(sys.executable).with_name("node")


@pytest.fixture
def people(db: Any) -> Cast:
    return make_cast()


@pytest.fixture
def token(people: Cast) -> str:
    return create_token(people.bob, name="tus", scopes=["read", "submit"], expires_in_days=1)[1]


@pytest.fixture
def proxy(people: Cast) -> Iterator[CuttingProxy]:
    with asgi_server() as server:
        found = CuttingProxy(server, n_cuts=N_CUTS, after_bytes=len(CONTENT) // (N_CUTS + 10))
        yield found
        found.close()


def arrived() -> str:
    """The SHA-256 of the only upload there is, under which the store keeps it then."""
    upload, store = ResumableUpload.objects.get(), blob_store()
    assert upload.is_whole
    with store.spool().gather([upload.pk], limit_bytes=upload.length_bytes) as staging:
        found = store.keep(staging).sha256
    assert store.verify(found)
    return found


@pytest.mark.slow
def test_tuspy_sends_a_file_in_one_request_through_fifty_cuts(store, people, token, proxy, tmp_path):
    path = tmp_path / "data.bin"
    path.write_bytes(CONTENT)
    client = TusClient(f"{proxy.url}/api/v1/uploads", headers={"Authorization": f"Bearer {token}"})
    uploader = client.uploader(
        str(path), retries=20 * N_CUTS, retry_delay=0, metadata=project_metadata(people.project_a, "data.bin")
    )
    uploader.upload()
    assert proxy.n_done == N_CUTS
    assert arrived() == SHA256


def test_tuspy_sends_pieces_with_checksums(people, token, tmp_path):
    path = tmp_path / "data.bin"
    path.write_bytes(CONTENT)
    with asgi_server() as server:
        client = TusClient(f"{server}/api/v1/uploads", headers={"Authorization": f"Bearer {token}"})
        metadata = project_metadata(people.project_a, "data.bin")
        client.uploader(str(path), chunk_size=2**20, upload_checksum=True, metadata=metadata).upload()
    assert arrived() == SHA256


@pytest.mark.parametrize(("n_cuts", "is_sent_at_creation"), [(8, False), (0, True)])
def test_tus_js_client_sends_a_file_in_one_request(people, token, proxy, tmp_path, n_cuts, is_sent_at_creation):
    proxy.n_cuts = n_cuts
    path = tmp_path / "data.bin"
    path.write_bytes(CONTENT)
    shutil.copy(ROOT / "tests/storage/send_by_tus.cjs", tmp_path)
    asked = {
        "module": str(ROOT / "frontend/node_modules/tus-js-client"),
        "file": str(path),
        "options": {
            "endpoint": f"{proxy.url}/api/v1/uploads",
            "headers": {"Authorization": f"Bearer {token}"},
            "metadata": project_metadata(people.project_a, "data.bin"),
            "retryDelays": [1] * 20 * N_CUTS,
            "uploadDataDuringCreation": is_sent_at_creation,
        },
    }
    done = subprocess.run(
        [NODE, tmp_path / "send_by_tus.cjs"], input=json.dumps(asked), capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert proxy.n_done == n_cuts
    assert arrived() == SHA256


@pytest.mark.slow
def test_the_web_process_holds_no_more_of_a_large_file_than_a_few_pieces(people, token):
    content = bytes(10 * PIECE_BYTES)
    upload = begin(people.project_a, length_bytes=len(content), filename="data.bin", actor=people.bob)
    sent = {
        "Tus-Resumable": "1.0.0",
        "Upload-Offset": "0",
        "Content-Type": PIECE_TYPE,
        "Authorization": f"Bearer {token}",
    }
    with asgi_server() as server:
        address = f"{server}/api/v1/uploads/{upload.pk}"
        httpx.patch(address, headers=sent, timeout=120)  # what the first request imports does not count
        gc.disable()  # what only the collector would free counts
        tracemalloc.start()
        try:
            answer = httpx.patch(address, content=content, headers=sent, timeout=120)
            held_bytes, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
            gc.enable()
    assert (answer.status_code, answer.headers["Upload-Offset"]) == (204, str(len(content)))
    assert held_bytes < 3 * PIECE_BYTES
