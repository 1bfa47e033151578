# SPDX-License-Identifier: Apache-2.0
"""What differs between two versions: columns, classes and files, from what is stored, and what that cannot tell."""

from __future__ import annotations

import io
import zipfile

import pytest

from mlhub.datasets import archive_listings, tasks
from mlhub.datasets.models import DatasetVersion, VersionState
from tests.datasets import files
from tests.datasets.test_inspection import inspected

pytestmark = pytest.mark.slow

OLD = b"id,age,city,left\n" + b"".join(b"%d,%d,%s,y\n" % (i, 20 + i % 30, b"AB"[i % 2 : i % 2 + 1]) for i in range(40))
NEW = b"id,age,town,left\n" + b"".join(b"%d,old,%s,y\n" % (i, b"AB"[i % 2 : i % 2 + 1]) for i in range(50))


def next_version(cast, version, *, filename, content, **fields):
    """Another version of the same dataset, inspected, as the API shows it."""
    bob, file = cast.client(cast.bob), io.BytesIO(content)
    file.name = filename
    address = f"/api/v1/datasets/{version['dataset']['id']}/versions"
    made = bob.post(address, {"file": file, **fields}, format="multipart")
    assert made.status_code == 201, made.json()
    tasks.inspect_version(made.json()["id"])
    return bob.get(f"/api/v1/dataset-versions/{made.json()['id']}").json()


def difference(cast, before, after, who=None):
    address = f"/api/v1/dataset-versions/{before['id']}/difference"
    return cast.client(who or cast.victor).get(address, {"to": after["id"]})


def test_a_table_shows_columns_that_came_went_and_changed_their_type_with_statistics_of_both(cast):
    old = inspected(cast, filename="people.csv", content=OLD, target="age")
    new = next_version(cast, old, filename="people.csv", content=NEW, target="town")
    found = difference(cast, old, new).json()
    assert not found["is_same_content"]
    columns = {column["name"]: column for column in found["columns"]}
    assert {name: column["change"] for name, column in columns.items()} == {
        "id": "changed", "age": "changed", "town": "added", "city": "removed"
    }  # fmt: skip
    age = columns["age"]
    assert "type" in age["differs"]
    assert (age["before"]["type"], age["after"]["type"]) == ("number", "constant")
    assert age["before"]["mean"] == 32.0
    assert columns["city"]["after"] is None
    facts = {fact["name"]: (fact["before"], fact["after"]) for fact in found["facts"]}
    assert facts["n_rows"] == (40, 50)
    assert facts["size_bytes"] == (len(OLD), len(NEW))
    assert facts["options.target"] == ("age", "town")
    assert "waits for a choice of columns" in found["notes"][0]
    assert "Rows are counted, not compared" in found["notes"][1]
    assert "renamed" in found["notes"][2]
    back = difference(cast, new, old).json()
    assert {column["name"]: column["change"] for column in back["columns"]}["city"] == "added"


def test_the_same_bytes_read_otherwise_differ_in_options_alone(cast):
    old = inspected(cast, filename="people.csv", content=OLD, target="age")
    new = next_version(cast, old, filename="people.csv", content=OLD, target="city")
    found = difference(cast, old, new).json()
    assert (found["is_same_content"], found["notes"], found["file_counts"]) == (True, [], None)
    assert {"age", "city"} <= {column["name"] for column in found["columns"]}
    assert all("mean" not in column["differs"] for column in found["columns"])
    same = difference(cast, old, old).json()
    assert (same["facts"], same["columns"], same["classes"], same["files"]) == ([], [], [], [])


def test_of_an_archive_every_file_that_came_went_or_changed_is_named_without_unpacking_it(cast, monkeypatch):
    content = {"a/1.wav": b"one", "a/2.wav": b"two", "b/3.wav": b"three"}
    old = inspected(cast, filename="sounds.zip", content=files.zipped(content), format="files")
    changed = {"a/1.wav": b"one", "a/2.wav": b"TWO", "b/4.wav": b"three"}
    new = next_version(cast, old, filename="sounds.zip", content=files.zipped(changed), format="files")
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_, **__: pytest.fail("A member was opened."))
    found = difference(cast, old, new).json()
    assert [(file["path"], file["change"]) for file in found["files"]] == [
        ("a/2.wav", "changed"), ("b/3.wav", "removed"), ("b/4.wav", "added")
    ]  # fmt: skip
    assert found["files"][1]["size_before"], found["files"][1]["size_after"] == (5, None)
    assert found["file_counts"] == {"n_added": 1, "n_removed": 1, "n_changed": 1, "n_same": 1}
    assert found["notes"] == ["A file that was renamed or moved counts as one removed and one added."]

    monkeypatch.setattr(archive_listings, "MAX_DIRECTORY_BYTES", 100)
    found = difference(cast, old, new).json()
    assert (found["files"], found["file_counts"]) == ([], None)
    assert "too many files to compare" in found["notes"][0]


def test_images_show_the_examples_of_each_class(cast):
    old = inspected(cast, filename="x.zip", content=files.images())
    more = {f"{label}/{i}.png": files.png(i) for label in ("cat", "dog", "eel") for i in range(9)}
    new = next_version(cast, old, filename="x.zip", content=files.zipped(more))
    found = difference(cast, old, new).json()
    assert [(one["name"], one["change"], one["before"], one["after"]) for one in found["classes"]] == [
        ("cat", "changed", 3, 9), ("dog", "changed", 3, 9), ("eel", "added", None, 9)
    ]  # fmt: skip
    assert (found["file_counts"]["n_added"], found["file_counts"]["n_same"]) == (21, 6)


@pytest.mark.parametrize(
    ("state", "words"), [(VersionState.INSPECTING, "is being inspected"), (VersionState.REFUSED, "was refused")]
)
def test_a_version_of_which_little_is_known_says_so(cast, state, words):
    old = inspected(cast, filename="people.csv", content=OLD, target="age")
    new = next_version(cast, old, filename="people.csv", content=NEW, target="town")
    DatasetVersion.objects.filter(pk=new["id"]).update(state=state, schema={}, statistics={})
    found = difference(cast, old, new).json()
    assert words in found["notes"][0]
    assert found["columns"] == []


def test_only_versions_that_one_may_see_are_compared(cast):
    old = inspected(cast, filename="people.csv", content=OLD, target="age")
    refused = difference(cast, old, {"id": "00000000-0000-7000-8000-000000000000"})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (404, "to")
    assert difference(cast, old, old, who=cast.charlie).status_code == 404
