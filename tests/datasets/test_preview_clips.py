# SPDX-License-Identifier: Apache-2.0
"""People listen to the clips of a preview, by the bytes that were uploaded and in parts, and to nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlhub.datasets import preview_clips
from mlhub.datasets.actions import accept_version
from mlhub.datasets.models import DatasetVersion
from mlhub.runtime.data import readers
from tests.datasets import audio
from tests.datasets.test_uploads import upload


def accepted(cast, filename: str, content: bytes, folder: Path) -> DatasetVersion:
    """A version of alice's, with what inspection finds."""
    answer = upload(cast.client(cast.alice), cast.project_a, filename=filename, content=content)
    version = DatasetVersion.objects.get(pk=answer.json()["latest_version"]["id"])
    (folder / filename).write_bytes(content)
    found = readers.inspect("audio_folder", folder / filename, {})
    accept_version(version.pk, schema=found.schema, preview=found.preview, statistics=found.statistics)
    version.refresh_from_db()
    return version


@pytest.mark.parametrize(("filename", "content"), [("d.zip", audio.zip_of_clips(4)), ("d.tar", audio.tar_of_clips(4))])
def test_a_clip_is_played_byte_for_byte_and_in_parts(cast, tmp_path, filename, content):
    version = accepted(cast, filename, content, tmp_path)
    address, victor = f"/api/v1/dataset-versions/{version.pk}/clips/2", cast.client(cast.victor)
    answer = victor.get(address)
    raw = audio.clip(0)
    assert (answer.status_code, answer["Content-Type"], answer["Accept-Ranges"]) == (200, "audio/wav", "bytes")
    assert b"".join(answer.streaming_content) == raw
    part = victor.get(address, HTTP_RANGE="bytes=0-3")
    assert (part.status_code, b"".join(part.streaming_content)) == (206, b"RIFF")
    assert part["Content-Range"] == f"bytes 0-3/{len(raw)}"
    assert victor.get(address, HTTP_IF_NONE_MATCH=answer["ETag"]).status_code == 304
    assert cast.client(cast.charlie).get(address).status_code == 404


def test_what_is_no_clip_of_the_preview_is_not_there(cast, tmp_path):
    version, bob = accepted(cast, "d.zip", audio.zip_of_clips(2), tmp_path), cast.client(cast.bob)
    address = f"/api/v1/dataset-versions/{version.pk}/clips"
    assert bob.get(f"{address}/2").status_code == 404
    version.preview["clips"][0]["name"] = "sounds/none.wav"
    version.preview["clips"][1]["name"] = "../../etc/passwd"
    version.save()
    assert [bob.get(f"{address}/{i}").status_code for i in range(2)] == [404, 404]
    version.preview["clips"][1] = {"name": "a.wav", "offset": -5, "size": 10}
    version.save()
    assert bob.get(f"{address}/1").status_code == 404


def test_a_clip_that_is_too_long_for_a_page_is_not_sent(cast, tmp_path, monkeypatch):
    version = accepted(cast, "d.zip", audio.zip_of_clips(2), tmp_path)
    monkeypatch.setattr(preview_clips, "MAX_CLIP_BYTES", 1000)
    assert cast.client(cast.bob).get(f"/api/v1/dataset-versions/{version.pk}/clips/0").status_code == 404
