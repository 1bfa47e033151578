# SPDX-License-Identifier: Apache-2.0
"""A dataset's file is downloaded as it was uploaded, by those who may see it."""

from __future__ import annotations

from mlhub.datasets.actions import refuse_version
from tests.datasets import files
from tests.datasets.test_uploads import upload


def test_a_version_is_downloaded_byte_for_byte_and_in_parts(cast):
    bob, content = cast.client(cast.bob), files.customers()
    version = upload(bob, cast.project_a, filename="customers.csv", content=content).json()["latest_version"]
    address = f"/api/v1/dataset-versions/{version['id']}/download"
    answer = bob.get(address)
    assert b"".join(answer.streaming_content) == content
    assert 'filename="customers.csv"' in answer["Content-Disposition"]
    assert answer["ETag"] == f'"{version["files"][0]["sha256"]}"'
    part = bob.get(address, HTTP_RANGE="bytes=5-9")
    assert (part.status_code, b"".join(part.streaming_content)) == (206, content[5:10])
    assert cast.client(cast.charlie).get(address).status_code == 404

    refuse_version(version["id"], error={"field": "file", "message": "no", "remedy": "none"})
    assert bob.get(address).status_code == 404
