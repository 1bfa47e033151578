# SPDX-License-Identifier: Apache-2.0
"""Downloads: whole, in parts, and not again what the browser has (RFC 9110)."""

from __future__ import annotations

import hashlib
import json

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient

from mlhub.registry.models import Model, ModelVersion
from mlhub.storage.stores import blob_store
from tests.registry.packages import PACKAGE, WEIGHTS, a_dataset, code_of, trained, upload

SHA256 = hashlib.sha256(WEIGHTS).hexdigest()


@pytest.fixture
def version(cast) -> ModelVersion:
    assert upload(cast.client(cast.bob), cast.project_a).status_code == 201
    return trained(code_of(Model.objects.get()), a_dataset(cast.project_a, cast.bob), cast.bob)


def download(cast, version, what="weights", **headers):
    return cast.client(cast.victor).get(f"/api/v1/model-versions/{version.id}/download?what={what}", **headers)


def body(answer) -> bytes:
    return b"".join(answer.streaming_content)


def test_weights_come_whole_under_a_name_with_their_hash(cast, version):
    answer = download(cast, version)
    assert (answer.status_code, body(answer)) == (200, WEIGHTS)
    assert answer["ETag"] == f'"{SHA256}"'
    assert answer["Content-Length"] == str(len(WEIGHTS))
    assert answer["Content-Disposition"] == 'attachment; filename="m-2.safetensors"'
    assert (answer["Accept-Ranges"], answer["X-Content-Type-Options"]) == ("bytes", "nosniff")


@pytest.mark.parametrize(
    ("asked", "first", "end"),
    [("bytes=0-9", 0, 10), ("bytes=1000-", 1000, 1024), ("bytes=-24", 1000, 1024), ("bytes=1000-99999", 1000, 1024)],
)
def test_a_part_comes_alone(cast, version, asked, first, end):
    answer = download(cast, version, HTTP_RANGE=asked)
    assert (answer.status_code, body(answer)) == (206, WEIGHTS[first:end])
    assert answer["Content-Range"] == f"bytes {first}-{end - 1}/{len(WEIGHTS)}"


@pytest.mark.parametrize("asked", ["bytes=0-1,5-6", "bytes=9-3", "bytes=-", "lines=1-2", "bytes=" + "9" * 5000 + "-"])
def test_a_range_that_is_not_understood_is_ignored(cast, version, asked):
    assert body(download(cast, version, HTTP_RANGE=asked)) == WEIGHTS


@pytest.mark.parametrize("asked", ["bytes=1024-", "bytes=-0"])
def test_a_range_beyond_the_end_is_refused_with_the_size(cast, version, asked):
    answer = download(cast, version, HTTP_RANGE=asked)
    assert (answer.status_code, answer["Content-Range"]) == (416, "bytes */1024")
    assert answer.json()["code"] == "no_such_range"


def test_what_the_browser_has_is_not_sent_again(cast, version):
    for tag in (f'"{SHA256}"', f'"other", W/"{SHA256}"', "*"):
        assert download(cast, version, HTTP_IF_NONE_MATCH=tag).status_code == 304
    assert download(cast, version, HTTP_IF_NONE_MATCH='"other"').status_code == 200


def test_a_part_of_other_bytes_than_those_begun_is_not_sent(cast, version):
    asked = {"HTTP_RANGE": "bytes=0-9"}
    assert download(cast, version, **asked, HTTP_IF_RANGE=f'"{SHA256}"').status_code == 206
    assert body(download(cast, version, **asked, HTTP_IF_RANGE='"other"')) == WEIGHTS


def test_metadata_explains_how_to_use_the_weights_and_where_they_come_from(cast, version):
    answer = download(cast, version, what="metadata")
    described = json.loads(body(answer))
    assert answer["Content-Type"] == "application/json"
    assert (described["classes"], described["metrics"]) == (["cat", "dog"], {"accuracy": 0.75})
    assert described["lineage"]["weights_sha256"] == SHA256
    assert described["lineage"]["code_version"] == str(version.code_version_id)
    assert download(cast, version, what="metadata", HTTP_IF_NONE_MATCH=answer["ETag"]).status_code == 304
    version.dataset_version.dataset.delete()
    assert json.loads(body(download(cast, version, what="metadata")))["lineage"]["dataset_version"] is None


def test_a_version_says_what_can_be_downloaded(cast, version):
    described = cast.client(cast.victor).get(f"/api/v1/model-versions/{version.id}").json()["downloads"]
    assert described["package"] is None
    assert body(cast.client(cast.victor).get(described["weights"])) == WEIGHTS
    assert body(download(cast, version.code_version, what="package")) == PACKAGE


def test_what_a_version_does_not_have_is_not_found_and_other_words_are_refused(cast, version):
    assert download(cast, version, what="package").status_code == 404
    assert download(cast, version.code_version, what="metadata").status_code == 404
    assert download(cast, version, what="secrets").status_code == 422


def test_bytes_that_were_lost_are_an_error_with_words(cast, version):
    blob_store().delete(SHA256)
    answer = download(cast, version)
    assert (answer.status_code, answer.json()["code"]) == (500, "bytes_lost")


def test_the_asynchronous_server_sends_the_same_bytes_piece_by_piece(cast, version):
    client = AsyncClient()
    client.cookies = cast.client(cast.victor).cookies

    async def fetch() -> tuple[int, bytes]:
        answer = await client.get(
            f"/api/v1/model-versions/{version.id}/download?what=weights", headers={"Range": "bytes=4-1019"}
        )
        return answer.status_code, b"".join([piece async for piece in answer.streaming_content])

    assert async_to_sync(fetch)() == (206, WEIGHTS[4:1020])
