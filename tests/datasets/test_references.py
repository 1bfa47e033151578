# SPDX-License-Identifier: Apache-2.0
"""Versions by reference: fetched within limits, pinned by what was found, refused in words, refreshed."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from datetime import UTC, datetime
from pathlib import PurePosixPath

import pytest

from mlhub.core.errors import UnavailableError
from mlhub.datasets import fetching, references, tasks
from mlhub.datasets.models import DatasetVersion
from mlhub.datasets.sources import downloads, web_requests
from mlhub.datasets.sources.s3_signing import S3Keys, object_url, signed_url
from mlhub.environments.secrets import put_secret
from mlhub.events.models import Event
from mlhub.storage import work_queue
from mlhub.storage.actions import used_bytes
from mlhub.storage.models import WorkItem
from mlhub.storage.staging import Staging
from mlhub.storage.stores import blob_store
from mlhub.storage.tasks import work_on_next_outgoing
from mlhub.tenants.actions import set_quota
from tests.authorities import site_authority
from tests.datasets import files
from tests.datasets.file_server import file_server
from tests.storage.bucket_server import bucket_server

CONTENT = files.csv(400)


@pytest.fixture
def server(settings, monkeypatch):
    settings.DATA_ALLOW = ["127.0.0.1"]
    monkeypatch.setattr(fetching, "FIRST_WAIT_S", 0.0)
    with file_server(CONTENT) as found:
        yield found


def refer(cast, uri, name="d", status=201, **fields):
    """The first version of a dataset by reference, or the problem that the request is refused with."""
    source = {"uri": uri, **fields.pop("source", {})}
    body = {"name": name, "project": str(cast.project_a.id), "source": source, **fields}
    answer = cast.client(cast.bob).post("/api/v1/datasets/references", body, format="json")
    assert answer.status_code == status, answer.json()
    return answer.json()["latest_version"] if status == 201 else answer.json()


def fetched(cast, version):
    """The version as the API shows it after a try to fetch it."""
    tasks.fetch_version(version["id"])
    return cast.client(cast.bob).get(f"/api/v1/dataset-versions/{version['id']}").json()


def refused(cast, uri, **fields):
    version = fetched(cast, refer(cast, uri, **fields))
    assert version["state"] == "refused", version
    assert version["error"]["remedy"]
    assert used_bytes(cast.a) == 0
    assert list(blob_store().older_than(-1)) == []
    return version["error"]


@pytest.mark.slow
def test_a_file_is_fetched_over_broken_connections_pinned_by_what_was_found_and_becomes_ready(cast, server):
    server.breaks = 2
    version = refer(cast, f"{server.url}/a/iris.csv?v=1", target="species")
    assert (version["state"], version["files"], version["format"]) == ("fetching", [], "csv")
    version = fetched(cast, version)
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    assert version["state"] == "inspecting"
    assert version["files"] == [{"name": "iris.csv", "sha256": sha256, "size_bytes": len(CONTENT)}]
    assert version["source"]["found"]["etag"] == server.etag
    assert version["source"]["progress"] is None
    half = len(CONTENT) // 2
    assert server.ranges() == ["", f"bytes={half}-", f"bytes={half + (len(CONTENT) - half) // 2}-"]
    tasks.fetch_version(version["id"])
    assert len(server.requests) == 3, "a task that is sent twice fetches once"
    tasks.inspect_version(version["id"])
    assert DatasetVersion.objects.get().state == "ready"
    assert used_bytes(cast.a) == len(CONTENT)
    kinds = Event.objects.filter(subject_kind="dataset").order_by("id").values_list("kind", flat=True)
    assert list(kinds) == ["dataset.created", "dataset.fetched", "dataset.ready"]


def test_what_was_fetched_decides_the_format_where_the_request_gave_none(cast, server):
    """As of an upload: neither the name of a zip nor that of JSON lines says what is in it."""
    server.files = {"/tones.zip": clips_in_zip(), "/reviews.jsonl": b'{"text": "good", "label": "pos"}\n' * 4}
    tones = refer(cast, f"{server.url}/tones.zip", name="tones")
    reviews = refer(cast, f"{server.url}/reviews.jsonl", name="reviews")
    assert (tones["format"], reviews["format"]) == ("image_folder", "json_lines"), "by their names until then"
    assert fetched(cast, tones)["format"] == "audio_folder"
    assert fetched(cast, reviews)["format"] == "text_lines"

    given = refer(cast, f"{server.url}/reviews.jsonl", name="table", format="json_lines")
    assert fetched(cast, given)["format"] == "json_lines"
    chosen = refer(cast, f"{server.url}/reviews.jsonl", name="chosen", target="label", ignore=["id"])
    assert fetched(cast, chosen)["format"] == "json_lines", "its options are those of a table"


def test_shards_of_audio_are_recognised_once_the_first_is_there(cast, server):
    server.files = {f"/tones-{i}.tar": clips_in_tar() + bytes(512 * i) for i in range(2)}
    version = refer(cast, f"{server.url}/tones-{{0..1}}.tar")
    assert version["format"] == "webdataset"
    assert fetched(cast, version)["format"] == "audio_folder"


def clips_in_zip() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for i in range(4):
            archive.writestr(f"{'low' if i % 2 else 'high'}/{i}.wav", b"RIFF")
    return content.getvalue()


def clips_in_tar() -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name in ("a/0.wav", "b/1.wav"):
            archive.addfile(tarfile.TarInfo(name))
    return content.getvalue()


def test_a_server_without_ranges_sends_all_of_it_again(cast, server):
    server.breaks, server.has_ranges = 1, False
    version = fetched(cast, refer(cast, f"{server.url}/iris.csv"))
    assert version["files"][0]["sha256"] == hashlib.sha256(CONTENT).hexdigest()


def test_a_file_with_a_weak_entity_tag_is_never_joined_from_two_answers(cast, server):
    server.breaks, server.answer_headers = 1, {"ETag": 'W/"1"', "Last-Modified": "Mon, 02 Nov 2026 10:00:00 GMT"}
    server.has_etag = False
    version = fetched(cast, refer(cast, server.url + "/d.csv"))
    assert version["files"][0]["sha256"] == hashlib.sha256(CONTENT).hexdigest()
    assert server.ranges()[-1] == "", server.ranges()  # after a try with a range, all of it


def test_a_server_whose_headers_never_end_is_given_up(cast, server, monkeypatch):
    monkeypatch.setattr(web_requests, "HEAD_TIMEOUT_S", 0.3)
    server.trickles_s = 0.1
    assert refused(cast, server.url + "/d.csv")["code"] == "unreachable"
    assert len(server.requests) == 6


def test_a_server_that_breaks_off_at_the_same_byte_each_time_is_given_up_though_it_sends_all_from_the_beginning(
    cast, server, settings
):
    settings.FETCH_TIMEOUT_S = 20.0
    server.breaks, server.has_etag = 10**6, False
    error = refused(cast, server.url + "/d.csv")
    assert (error["code"], "6 tries" in error["message"]) == ("unreachable", True), error
    assert len(server.requests) == 6


def test_a_server_that_does_not_answer_is_not_called_a_slow_one(cast, server, monkeypatch):
    monkeypatch.setattr(web_requests, "HEAD_TIMEOUT_S", 0.3)
    monkeypatch.setattr(downloads, "SLOW_AFTER_S", 0.1)
    server.trickles_s = 0.1
    error = refused(cast, server.url + "/d.csv")
    assert (error["code"], "2 tries" in error["message"]) == ("unreachable", True), error


def test_a_file_that_changes_while_it_is_fetched_is_refused(cast, server):
    def change():
        server.content = CONTENT + b"1.0,2.0,setosa\n"

    server.breaks, server.on_break = 1, change
    assert refused(cast, f"{server.url}/iris.csv")["code"] == "changed"


@pytest.mark.parametrize(
    ("pinned", "field"), [({"etag": '"of-last-week"'}, "source.etag"), ({"sha256": "0" * 64}, "source.sha256")]
)
def test_another_file_than_the_one_that_was_asked_for_is_refused_with_both_names(cast, server, pinned, field):
    error = refused(cast, f"{server.url}/iris.csv", source=pinned)
    assert (error["code"], error["field"]) == ("changed", field)
    assert next(iter(pinned.values())) in error["message"]


def test_a_try_after_a_worker_died_takes_no_other_file_than_the_first_one_found(cast, server):
    version = refer(cast, f"{server.url}/iris.csv")
    row = DatasetVersion.objects.get(pk=version["id"])
    assert references.keep_source(row, found={"etag": '"before"'}, n_fetches=1)
    error = fetched(cast, version)["error"]
    assert (error["code"], '"before"' in error["message"]) == ("changed", True)
    assert row.source["n_fetches"] == 1


def test_a_fetch_waits_for_a_full_store_however_often_it_is_tried(cast, server, monkeypatch):
    version = refer(cast, f"{server.url}/iris.csv")
    with monkeypatch.context() as patched:
        patched.setattr(Staging, "_store", _refuse_bytes)
        for _ in range(fetching.MAX_FETCHES + 2):
            with pytest.raises(UnavailableError):
                tasks.fetch_version(version["id"])
    assert list(blob_store().older_than(-1)) == [], "nothing of it is left"
    assert fetched(cast, version)["state"] == "inspecting", "once there is room"


def _refuse_bytes(_staging, _chunk):
    raise UnavailableError("full")


@pytest.mark.parametrize("to", ["http://127.0.0.2:{port}/iris.csv", "http://169.254.169.254/", "file:///etc/passwd"])
def test_an_address_that_leads_inside_the_site_is_refused_and_not_called(cast, server, to):
    server.redirect = to.format(port=server.url.rpartition(":")[2])
    assert refused(cast, f"{server.url}/iris.csv")["code"] == "forbidden_address"
    assert len(server.requests) == 1


def test_the_quota_ends_a_fetch_before_the_bytes_come(cast, server):
    set_quota(cast.a, max_storage_bytes=len(CONTENT) - 1, actor=cast.root)
    error = refused(cast, f"{server.url}/iris.csv")
    assert error["code"] == "too_large"
    assert "quota" in error["remedy"]


def test_the_time_limit_ends_a_fetch(cast, server, settings):
    settings.FETCH_TIMEOUT_S = 0.0
    assert "MLHUB_FETCH_TIMEOUT_S" in refused(cast, f"{server.url}/iris.csv")["remedy"]


@pytest.mark.parametrize(("status", "code"), [(404, "not_found"), (403, "not_let_in"), (503, "unreachable")])
def test_a_server_that_refuses_is_quoted(cast, server, status, code):
    server.status = status
    error = refused(cast, f"{server.url}/iris.csv")
    assert (error["code"], str(status) in error["message"]) == (code, True)
    assert len(server.requests) == (6 if status == 503 else 1)


def test_a_failed_fetch_is_explained_in_the_language_of_the_request(cast, server):
    server.status = 404
    version = fetched(cast, refer(cast, f"{server.url}/iris.csv"))
    assert version["error"]["message"] == "The server answered 404: there is no such file."
    address = f"/api/v1/dataset-versions/{version['id']}"
    chinese = cast.client(cast.bob).get(address, HTTP_ACCEPT_LANGUAGE="zh-CN").json()["error"]
    said = ("服务器回答 404：没有这样的文件。", "请检查地址。")
    assert (chinese["code"], chinese["message"], chinese["remedy"]) == ("not_found", *said)


def test_a_certificate_of_a_private_authority_is_refused_at_once_and_trusted_where_the_site_names_it(
    cast, settings, tmp_path
):
    settings.DATA_ALLOW, authority = ["127.0.0.1"], site_authority(tmp_path)
    with file_server(CONTENT, tls=authority.for_server()) as server:
        error = refused(cast, f"{server.url}/iris.csv")
        assert (error["code"], server.requests) == ("untrusted_certificate", [])
        assert "127.0.0.1" in error["message"]
        assert "MLHUB_CA_FILE" in error["remedy"]
        settings.CA_FILE = str(authority.certificate)
        version = fetched(cast, refer(cast, f"{server.url}/iris.csv", name="trusted", target="species"))
    assert (version["state"], version["error"]) == ("inspecting", None)
    assert version["files"][0]["sha256"] == hashlib.sha256(CONTENT).hexdigest()


def test_a_refresh_says_whether_the_file_changed_and_an_unchanged_one_is_neither_sent_nor_counted_again(cast, server):
    bob = cast.client(cast.bob)
    first = fetched(cast, refer(cast, f"{server.url}/iris.csv", target="species"))
    answer = bob.post(f"/api/v1/dataset-versions/{first['id']}/refresh")
    assert answer.status_code == 201, answer.json()
    again = bob.post(f"/api/v1/dataset-versions/{first['id']}/refresh")
    assert (again.status_code, again.json()["code"]) == (409, "not_ready")
    second = fetched(cast, answer.json())
    assert (second["number"], second["state"], second["files"]) == (2, "inspecting", first["files"])
    assert second["source"]["found"]["is_changed"] is False
    assert server.requests[-1][1]["if-none-match"] == server.etag
    assert used_bytes(cast.a) == len(CONTENT)
    server.content = CONTENT * 2
    third = fetched(cast, bob.post(f"/api/v1/dataset-versions/{second['id']}/refresh").json())
    assert third["source"]["found"]["is_changed"] is True
    assert third["files"][0]["sha256"] == hashlib.sha256(server.content).hexdigest()
    assert third["options"] == {"target": "species"}


def test_the_hub_is_read_at_the_commit_it_names_and_its_token_goes_to_no_other_host(cast, server, settings):
    put_secret(cast.project_a, name="HF_TOKEN", value="hf_0123456789", actor=cast.bob)
    with file_server(CONTENT) as hub:
        hub.redirect, hub.answer_headers = f"{server.url}/blob", {"X-Repo-Commit": "c0ffee"}
        settings.HUB_URL = hub.url
        source = {"secrets": {"token": "HF_TOKEN"}}
        version = fetched(cast, refer(cast, "hf://datasets/owner/flowers@v1/data/iris.csv", source=source))
        assert (version["state"], version["source"]["found"]["revision"]) == ("inspecting", "c0ffee")
        path, headers = hub.requests[0]
        assert path == "/datasets/owner/flowers/resolve/v1/data/iris.csv"
        assert headers["authorization"] == "Bearer hf_0123456789"
        assert "authorization" not in server.requests[0][1]


def test_a_bucket_is_read_with_keys_that_are_secrets_of_the_project(cast, server, tmp_path):
    put_secret(cast.project_a, name="KEY_ID", value="AKIAIOSFODNN7EXAMPLE", actor=cast.bob)
    put_secret(cast.project_a, name="KEY", value="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", actor=cast.bob)
    with bucket_server(tmp_path / "bucket") as bucket:
        bucket.file("iris.csv").write_bytes(CONTENT)
        secrets = {"access_key_id": "KEY_ID", "secret_access_key": "KEY"}
        source = {"endpoint": bucket.url, "secrets": secrets}
        version = fetched(cast, refer(cast, "s3://blobs/iris.csv", source=source))
    assert (version["state"], version["error"]) == ("inspecting", None)
    assert version["files"][0]["sha256"] == hashlib.sha256(CONTENT).hexdigest()
    assert version["source"]["secrets"] == secrets
    assert "EXAMPLE" not in str(DatasetVersion.objects.values().get())


def test_addresses_are_signed_as_the_standard_says():
    """The example of Amazon's documentation of signed queries."""
    keys = S3Keys("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    at = datetime(2013, 5, 24, tzinfo=UTC)
    url = "https://examplebucket.s3.amazonaws.com/test.txt"
    signed = signed_url(url, keys, region="us-east-1", now=at, valid_for_s=86_400)
    assert signed.endswith("X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
    assert object_url("b", "a b/ü", endpoint="", region="eu-west-1") == (
        "https://b.s3.eu-west-1.amazonaws.com/a%20b/%C3%BC"
    )


def test_a_folder_of_the_site_is_read_and_a_link_out_of_it_is_not(cast, settings, tmp_path):
    folder = tmp_path / "nfs"
    folder.mkdir()
    (tmp_path / "secret.csv").write_bytes(CONTENT)
    (folder / "iris.csv").write_bytes(CONTENT)
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    settings.DATA_FOLDERS = [PurePosixPath(folder)]
    assert refused(cast, f"file://{folder}/link.csv", name="x")["code"] == "outside_folder"
    assert refused(cast, f"file://{folder}/none.csv", name="y")["code"] == "not_found"
    version = fetched(cast, refer(cast, f"file://{folder}/iris.csv"))
    assert version["files"][0]["sha256"] == hashlib.sha256(CONTENT).hexdigest()
    refreshed = cast.client(cast.bob).post(f"/api/v1/dataset-versions/{version['id']}/refresh").json()
    assert fetched(cast, refreshed)["source"]["found"]["is_changed"] is False


@pytest.mark.parametrize(
    ("uri", "fields", "field"),
    [
        ("ftp://example.org/x.csv", {}, "source.uri"),
        ("https://10.0.0.8/x.csv", {}, "source.uri"),
        ("http://example.org/x.csv", {}, "source.uri"),
        ("https://example.org/", {}, "source.uri"),
        ("https://example.org/x.bin", {}, "format"),
        ("https://example.org/x.csv", {"tokenizer": "byte"}, "tokenizer"),
        ("https://example.org/x.csv", {"source": {"endpoint": "https://example.org"}}, "source.endpoint"),
        ("https://example.org/x.csv", {"source": {"secrets": {"token": "NO_SUCH"}}}, "secrets"),
        ("https://example.org/x.csv", {"source": {"secrets": {"access_key_id": "X"}}}, "source.secrets.access_key_id"),
        ("https://example.org/x.csv", {"source": {"sha256": "abc"}}, "source.sha256"),
        ("s3://bucket/x.csv", {"source": {"endpoint": "http://169.254.169.254"}}, "source.endpoint"),
        ("hf://datasets/owner/x.csv", {}, "source.uri"),
        ("file:///etc/passwd.csv", {}, "source.uri"),
        ("file:///a/../etc/passwd.csv", {}, "source.uri"),
    ],
)
def test_an_address_that_can_never_be_fetched_is_refused_by_field_and_leaves_nothing(cast, uri, fields, field):
    problem = refer(cast, uri, status=422, **fields)
    assert (problem.get("field") or problem["errors"][0]["field"]) == field
    assert not DatasetVersion.objects.exists()


def test_a_digest_may_have_capitals_and_any_other_word_is_refused_with_what_one_is(cast):
    version = refer(cast, "https://example.org/x.csv", source={"sha256": "AB" * 32})
    assert version["source"]["sha256"] == "ab" * 32
    problem = refer(cast, "https://example.org/x.csv", name="e", status=422, source={"sha256": "abc"})
    assert "64 hexadecimal digits" in problem["errors"][0]["message"]


def test_an_uploaded_version_has_no_address_to_look_at(cast):
    from tests.datasets.test_uploads import upload

    version = upload(cast.client(cast.bob), cast.project_a).json()["latest_version"]
    answer = cast.client(cast.bob).post(f"/api/v1/dataset-versions/{version['id']}/refresh")
    assert (answer.status_code, answer.json()["code"]) == (409, "no_source")


def test_a_fetch_waits_in_the_queue_while_as_many_are_under_way_as_there_may_be(cast, server, settings):
    settings.FETCHES_AT_ONCE = 0
    refer(cast, f"{server.url}/iris.csv")
    work_on_next_outgoing()
    item = WorkItem.objects.get()
    assert (item.task, item.is_bulk, item.started_at, item.n_failures) == (references.FETCH, True, None, 0)
    assert item.not_before is not None
    assert (server.requests, DatasetVersion.objects.get().state) == ([], "fetching")
    WorkItem.objects.update(not_before=None)
    settings.FETCHES_AT_ONCE = 1
    work_on_next_outgoing()
    assert DatasetVersion.objects.get().state == "inspecting"
    assert work_queue.withdraw([DatasetVersion.objects.get().pk]) == 1


def test_a_version_that_is_deleted_meanwhile_ends_its_fetch(cast, server):
    version = refer(cast, f"{server.url}/iris.csv")
    server.breaks = 1
    server.on_break = lambda: None
    row = DatasetVersion.objects.select_related("dataset__project__organisation").get()
    DatasetVersion.objects.all().delete()
    fetching.fetch(row)
    assert (used_bytes(cast.a), Event.objects.filter(kind="dataset.fetched").exists()) == (0, False)
    tasks.fetch_version(version["id"])
