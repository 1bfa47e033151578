# SPDX-License-Identifier: Apache-2.0
"""What differs between two jobs: settings by name, and code as diffs that are bounded."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.jobs.models import Job
from mlhub.registry import code_differences
from mlhub.registry.models import Model, ModelVersion
from tests.cast import Cast, make_cast
from tests.datasets.files import form, zipped
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db
OLD = {"model.py": b"import torch\nWIDTH = 8\n", "same.py": b"x = 1\n", "gone.py": b"y = 2\n", "data.bin": b"\0\1"}
NEW = {"model.py": b"import torch\nWIDTH = 16\n", "same.py": b"x = 1\n", "new.py": b"", "data.bin": b"\0\2"}


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def code(cast: Cast, files: dict[str, bytes]) -> ModelVersion:
    """Version after version of one model."""
    body = form("m.zip", zipped(files), name="m", project=cast.project_a.id)
    model = Model.objects.filter(name="m").first()
    path = "/api/v1/models"
    if model is not None:
        body, path = form("m.zip", zipped(files)), f"/api/v1/models/{model.id}/versions"
    answer = cast.client(cast.bob).post(path, body, format="multipart")
    assert answer.status_code == 201, answer.content
    version: ModelVersion = ModelVersion.objects.filter(model__name="m").order_by("-number")[0]
    return version


def difference(cast: Cast, before: Job, after: Job, user: Any = None) -> Any:
    return cast.client(user or cast.bob).get(f"/api/v1/jobs/{before.pk}/difference", {"to": str(after.pk)})


def with_code(made: Job, version: ModelVersion) -> Job:
    Job.objects.filter(pk=made.pk).update(model_version=version)
    return made


def test_settings_that_differ_are_named_with_both_values(cast: Cast) -> None:
    before = job(cast.project_a, cast.bob, hyperparameters={"lr": 0.1, "units": 8}, priority=2)
    after = job(cast.project_a, cast.bob, hyperparameters={"lr": 0.2, "units": 8}, resources={"cpus": 2}, epochs=9)
    answer = difference(cast, before, after, user=cast.victor).json()
    assert {row["name"]: (row["before"], row["after"]) for row in answer["settings"]} == {
        "epochs": (2, 9), "priority": (2, 0), "hyperparameters.lr": (0.1, 0.2), "resources.cpus": (None, 2),
    }  # fmt: skip
    assert answer["code"] == {"files": [], "n_left_out": 0, "note": ""}
    assert difference(cast, before, before).json()["settings"] == []


def test_files_of_code_that_differ_have_a_unified_diff(cast: Cast) -> None:
    before = with_code(job(cast.project_a, cast.bob), code(cast, OLD))
    after = with_code(job(cast.project_a, cast.bob), code(cast, NEW))
    answer = difference(cast, before, after).json()
    files = {file["path"]: file for file in answer["code"]["files"]}
    assert {path: file["change"] for path, file in files.items()} == {
        "data.bin": "changed", "gone.py": "removed", "model.py": "changed", "new.py": "added",
    }  # fmt: skip
    assert files["model.py"]["diff"] == "@@ -1,2 +1,2 @@\n import torch\n-WIDTH = 8\n+WIDTH = 16\n"
    assert (files["data.bin"]["diff"], "no text" in files["data.bin"]["note"]) == ("", True)
    assert [(row["before"], row["after"]) for row in answer["settings"]] == [("m v1", "m v2")]
    built_in = difference(cast, job(cast.project_a, cast.bob), after).json()["code"]
    assert (built_in["files"], "built in" in built_in["note"]) == ([], True)


def test_long_differences_are_cut_and_say_so(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, bound in (("MAX_FILES", 2), ("MAX_DIFF_LINES", 3), ("MAX_ALL_LINES", 4), ("MAX_FILE_LINES", 50)):
        monkeypatch.setattr(code_differences, name, bound)
    before = with_code(job(cast.project_a, cast.bob), code(cast, {"model.py": b""}))
    long = b"line\n" * 10
    names = ("a.py", "b.py", "c.py", "d.py")
    after = with_code(job(cast.project_a, cast.bob), code(cast, {"model.py": b"", **dict.fromkeys(names, long)}))
    found = difference(cast, before, after).json()["code"]
    assert [(file["path"], file["diff"].count("\n")) for file in found["files"]] == [("a.py", 3), ("b.py", 1)]
    assert all("first" in file["note"] for file in found["files"])
    assert found["n_left_out"] == 2


def test_jobs_of_others_are_not_compared(cast: Cast) -> None:
    mine, others = job(cast.project_a, cast.bob), job(cast.project_b, cast.charlie)
    assert difference(cast, mine, others, user=cast.charlie).status_code == 404
    refused = difference(cast, mine, others)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (404, "to")
