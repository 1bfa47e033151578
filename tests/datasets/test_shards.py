# SPDX-License-Identifier: Apache-2.0
"""Versions of many files by reference: patterns and lists, each shard pinned, held as it comes, refused by its name."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path, PurePosixPath

import pytest

from mlhub.datasets import fetching, tasks
from mlhub.datasets.models import DatasetVersion
from mlhub.datasets.sources.patterns import expanded
from mlhub.environments.secrets import put_secret
from mlhub.storage import work_queue
from mlhub.storage.actions import used_bytes
from mlhub.tenants.actions import set_quota
from tests.datasets import files
from tests.datasets.file_server import file_server
from tests.datasets.test_references import fetched, refer
from tests.storage.bucket_server import bucket_server

SHARDS = {f"/train-{i:03}.tar": files.shard(6, first=6 * i) for i in range(3)}


@pytest.fixture
def server(settings, monkeypatch):
    settings.DATA_ALLOW = ["127.0.0.1"]
    monkeypatch.setattr(fetching, "FIRST_WAIT_S", 0.0)
    with file_server(b"") as found:
        found.files = dict(SHARDS)
        yield found


def refer_to(cast, status=201, name="d", **body):
    body = {"name": name, "project": str(cast.project_a.id), **body}
    answer = cast.client(cast.bob).post("/api/v1/datasets/references", body, format="json")
    assert answer.status_code == status, answer.json()
    return answer.json()["latest_version"] if status == 201 else answer.json()


def paths(server):
    return [path for path, _ in server.requests]


def test_a_pattern_of_shards_becomes_one_dataset_of_all_their_examples(cast, server):
    server.breaks = 1
    version = refer(cast, server.url + "/train-{000..002}.tar")
    assert (version["state"], version["source"]["n_shards"]) == ("fetching", 3)
    version = fetched(cast, version)
    assert [file["name"] for file in version["files"]] == ["train-000.tar", "train-001.tar", "train-002.tar"]
    assert paths(server) == ["/train-000.tar", "/train-000.tar", "/train-001.tar", "/train-002.tar"]
    assert used_bytes(cast.a) == sum(map(len, SHARDS.values()))
    tasks.inspect_version(version["id"])
    row = DatasetVersion.objects.get()
    assert (row.state, row.error, row.schema["n_examples"]) == ("ready", None, 18)
    client = cast.client(cast.bob)
    first = client.get(f"/api/v1/dataset-versions/{row.id}/shards?limit=2").json()
    last = client.get(first["next"]).json()
    assert (len(first["results"]), first["previous"], last["next"]) == (2, None, None)
    assert client.get(last["previous"]).json() == first
    assert [(one["name"], one["found"]["etag"]) for one in (*first["results"], *last["results"])] == [
        (path[1:], server.etag_of(path)) for path in SHARDS
    ]
    assert client.get(f"/api/v1/dataset-versions/{row.id}/shards?cursor=x").status_code == 400
    whole = client.get(f"/api/v1/dataset-versions/{row.id}/download?file=train-001.tar")
    assert b"".join(whole.streaming_content) == SHARDS["/train-001.tar"]
    assert client.get(f"/api/v1/dataset-versions/{row.id}/download?file=x.tar").status_code == 404
    assert cast.client(cast.charlie).get(f"/api/v1/dataset-versions/{row.id}/shards").status_code == 404


def test_each_address_of_a_list_is_pinned_and_a_refusal_names_the_shard(cast, server):
    def shards(**pins):
        return [{"uri": f"{server.url}/train-000.tar"}, {"uri": f"{server.url}/train-001.tar", **pins}]

    digest = hashlib.sha256(SHARDS["/train-001.tar"]).hexdigest()
    sound = shards(etag=server.etag_of("/train-001.tar"), sha256=digest)
    version = fetched(cast, refer_to(cast, source={"shards": sound}, name="sound"))
    assert (version["state"], version["source"]["uri"]) == ("inspecting", "")
    for pins, field in (({"etag": '"old"'}, "etag"), ({"sha256": "0" * 64}, "sha256")):
        version = fetched(cast, refer_to(cast, source={"shards": shards(**pins)}, name=field))
        error = version["error"]
        assert (version["state"], error["code"], error["field"]) == ("refused", "changed", f"source.shards.1.{field}")
        assert "Shard 2 of 2, train-001.tar: " in error["message"]
    del server.files["/train-002.tar"]
    error = fetched(cast, refer(cast, server.url + "/train-{000..002}.tar", name="gone"))["error"]
    assert (error["code"], error["field"]) == ("not_found", "source.uri")
    assert "train-002.tar" in error["message"]
    assert used_bytes(cast.a) == len(SHARDS["/train-000.tar"]) + len(SHARDS["/train-001.tar"])


def test_a_later_try_goes_on_behind_the_shards_that_are_there_and_takes_no_other_file(cast, server, settings):
    version = refer(cast, server.url + "/train-{000..002}.tar")
    settings.FETCH_TIMEOUT_S = 1e-9  # the turn of one shard, whose own limit is over as well
    with pytest.raises(work_queue.TurnOverError):
        tasks.fetch_version(version["id"])
    assert paths(server) == []
    settings.FETCH_TIMEOUT_S = 600.0
    row = DatasetVersion.objects.get()
    row.source["shards"][1]["found"] = {"etag": '"of the first try"'}
    row.save()
    error = fetched(cast, version)["error"]
    assert "train-001.tar" in error["message"]
    assert '"of the first try"' in error["message"]
    assert used_bytes(cast.a) == 0


def test_what_a_try_fetched_is_held_and_not_asked_for_again(cast, server, monkeypatch):
    version = refer(cast, server.url + "/train-{000..002}.tar")
    row = DatasetVersion.objects.select_related("dataset__project__organisation", "created_by").get()

    class WorkerDiedError(BaseException):
        pass

    def die(*_):
        if server.requests:
            raise WorkerDiedError

    with monkeypatch.context() as patch:
        patch.setattr(fetching.storage, "bytes_left_for", die)
        with pytest.raises(WorkerDiedError):
            fetching.fetch(row)
    assert [shard["stored"] != "" for shard in DatasetVersion.objects.get().source["shards"]] == [True, False, False]
    assert fetched(cast, version)["state"] == "inspecting"
    assert paths(server) == list(SHARDS)


def test_a_refresh_sends_changed_shards_alone(cast, server):
    bob = cast.client(cast.bob)
    first = fetched(cast, refer(cast, server.url + "/train-{000..002}.tar"))
    server.requests.clear()
    second = fetched(cast, bob.post(f"/api/v1/dataset-versions/{first['id']}/refresh").json())
    assert (second["files"], second["source"]["found"]["is_changed"]) == (first["files"], False)
    assert all(headers["if-none-match"] for _, headers in server.requests)
    assert used_bytes(cast.a) == sum(map(len, SHARDS.values()))
    server.files["/train-001.tar"] = files.shard(8, first=50)
    third = fetched(cast, bob.post(f"/api/v1/dataset-versions/{second['id']}/refresh").json())
    assert third["source"]["found"]["is_changed"] is True
    assert [a == b for a, b in zip(second["files"], third["files"], strict=True)] == [True, False, True]
    difference = bob.get(f"/api/v1/dataset-versions/{third['id']}/difference?to={second['id']}").json()
    assert [(one["path"], one["change"]) for one in difference["files"]] == [("train-001.tar", "changed")]


def test_the_quota_holds_for_all_shards_together(cast, server):
    set_quota(cast.a, max_storage_bytes=len(SHARDS["/train-000.tar"]) + 1, actor=cast.root)
    error = refused_shards(cast, server.url + "/train-{000..002}.tar")
    assert (error["code"], "train-001.tar" in error["message"]) == ("too_large", True)


def refused_shards(cast, uri, **fields):
    version = fetched(cast, refer(cast, uri, **fields))
    assert version["state"] == "refused"
    assert used_bytes(cast.a) == 0
    return version["error"]


def test_wildcards_are_listed_in_folders_of_the_site_and_in_buckets(cast, settings, tmp_path):
    settings.DATA_ALLOW = ["127.0.0.1"]
    folder = tmp_path / "nfs"
    folder.mkdir()
    for path, content in SHARDS.items():
        (folder / path[1:]).write_bytes(content)
    (folder / "readme.txt").write_text("no shard")
    settings.DATA_FOLDERS = [PurePosixPath(folder)]
    version = fetched(cast, refer(cast, f"file://{folder}/train-*.tar", name="nfs"))
    assert (version["state"], len(version["files"])) == ("inspecting", 3), version["error"]
    put_secret(cast.project_a, name="KEY_ID", value="AKIAIOSFODNN7EXAMPLE", actor=cast.bob)
    put_secret(cast.project_a, name="KEY", value="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", actor=cast.bob)
    with bucket_server(tmp_path / "bucket") as bucket:
        for i in range(2):
            path = bucket.file(f"data/part-{i}.parquet")
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(files.parquet(12 + i))
        secrets = {"access_key_id": "KEY_ID", "secret_access_key": "KEY"}
        source = {"endpoint": bucket.url, "secrets": secrets}
        version = fetched(cast, refer(cast, "s3://blobs/data/*.parquet", source=source, name="s3", target="y"))
        assert [file["name"] for file in version["files"]] == ["part-0.parquet", "part-1.parquet"], version["error"]
        tasks.inspect_version(version["id"])
        row = DatasetVersion.objects.get(pk=version["id"])
        assert (row.state, row.schema["n_examples"]) == ("ready", 25), row.error
        error = fetched(cast, refer(cast, "s3://blobs/data/*.csv", source=source, name="no", format="files"))["error"]
        assert (error["code"], "None of the 2 files" in error["message"]) == ("not_found", True)


def test_the_hub_lists_a_folder_and_all_shards_are_of_one_commit(cast, server, settings):
    listing = [{"type": "file", "path": f"data/a-{i}.parquet"} for i in range(2)] + [{"type": "directory", "path": "x"}]
    server.files = {
        "/api/datasets/owner/flowers/tree/main/data": json.dumps(listing).encode(),
        "/datasets/owner/flowers/resolve/main/data/a-0.parquet": files.parquet(12),
        "/datasets/owner/flowers/resolve/c0ffee/data/a-1.parquet": files.parquet(13),
    }
    server.answer_headers = {"X-Repo-Commit": "c0ffee"}
    settings.HUB_URL = server.url
    version = fetched(cast, refer(cast, "hf://datasets/owner/flowers/data/*.parquet"))
    assert (version["state"], version["source"]["found"]["revision"]) == ("inspecting", "c0ffee"), version["error"]
    assert paths(server) == list(server.files)


def test_shards_of_other_columns_are_refused_by_name(cast, server):
    server.files = {"/a.parquet": files.parquet(), "/b.parquet": b"PAR1 damaged"}
    version = fetched(cast, refer(cast, server.url + "/{a,b}.parquet", target="y"))
    tasks.inspect_version(version["id"])
    error = DatasetVersion.objects.get().error
    assert error["message"].startswith("The shard b.parquet cannot be read as Parquet"), error


@pytest.mark.parametrize(
    ("source", "field"),
    [
        ({}, "source.uri"),
        ({"uri": "https://example.org/a.tar", "shards": [{"uri": "https://example.org/b.tar"}]}, "source.uri"),
        ({"uri": "https://example.org/*.tar"}, "source.uri"),
        ({"uri": "s3://bucket/*/x.tar"}, "source.uri"),
        ({"uri": "https://example.org/{0..1000}.tar"}, "source.uri"),
        ({"uri": "https://example.org/{0..9}.csv"}, "source.uri"),
        ({"uri": "https://example.org/{0..9}.tar", "etag": '"1"'}, "source.etag"),
        ({"uri": "https://{example.org,10.0.0.8}/x.tar"}, "source.uri"),
        ({"uri": "https://{a,b}.org/x.tar", "secrets": {"token": "T"}}, "source.uri"),
        ({"shards": [{"uri": "https://a.org/x.tar"}, {"uri": "https://10.0.0.8/x.tar"}]}, "source.shards.1.uri"),
        ({"shards": [{"uri": "https://a.org/x.tar"}, {"uri": "https://a.org/x.tar"}]}, "source.shards"),
        ({"shards": [{"uri": "https://a.org/x.tar"}, {"uri": "s3://bucket/x.tar"}]}, "source.shards"),
        ({"shards": [{"uri": "https://a.org/{0..2}.tar", "sha256": "0" * 64}]}, "source.shards.0.sha256"),
        ({"shards": [{"uri": "s3://bucket/*.tar"}]}, "source.shards.0.uri"),
        ({"shards": [{"uri": "https://a.org/%00.tar"}]}, "source.shards.0.uri"),
    ],
)
def test_shards_that_can_never_be_fetched_are_refused_by_field(cast, source, field):
    put_secret(cast.project_a, name="T", value="0123456789", actor=cast.bob)
    problem = refer_to(cast, status=422, source=source)
    assert (problem.get("field") or problem["errors"][0]["field"]) == field
    assert not DatasetVersion.objects.exists()


def test_braces_are_those_of_webdataset():
    assert expanded("a-{08..10}{x,}.tar") == ["a-08x.tar", "a-08.tar", "a-09x.tar", "a-09.tar", "a-10x.tar", "a-10.tar"]
    assert expanded("{3..0..2}") == ["3", "1"]
    assert expanded("plain-{a}.tar") == ["plain-{a}.tar"]


def test_pods_find_the_shards_as_a_folder(tmp_path: Path):
    from mlhub.runtime.data.readers import open_all
    from mlhub.runtime.data.shard_folders import dataset_data
    from mlhub.wire.launch import DatasetSpec, Input, dataset_inputs

    names = dataset_inputs(["b.parquet", "a.parquet"])
    blobs = {name: tmp_path / hashlib.sha256(name.encode()).hexdigest() for name in names}
    for name, n in zip(names, (3, 12), strict=True):
        blobs[name].write_bytes(files.parquet(n))
    inputs = [Input(name, blob.name, blob.stat().st_size, blob.as_uri()) for name, blob in blobs.items()]
    spec = DatasetSpec("parquet", names)
    data = dataset_data(spec, inputs, blobs.__getitem__, tmp_path)
    assert dataset_data(spec, inputs, blobs.__getitem__, tmp_path) == data, "also when another process was first"
    from mlhub.runtime.data.readers import inspect

    schema = inspect("parquet", data.path, {"target": "y"}).schema
    assert len(open_all("parquet", data.path, schema)) == 15
