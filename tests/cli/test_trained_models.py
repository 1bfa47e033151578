# SPDX-License-Identifier: Apache-2.0
"""Trained models from the command line: their export arrives whole, and serves predictions on this machine."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.jobs.models import Job
from mlhub.registry.models import Model, ModelVersion
from mlhub.registry.predictors.pool import predictor_pool
from mlhub.runtime.exported_model.model import ExportedModel
from mlhub.runtime.exported_model.serving import PredictionServer, serve
from mlhub.tenants.actions import create_token
from tests.cast import Cast, make_cast
from tests.registry import exported

pytestmark = pytest.mark.django_db(transaction=True)
NO_LENGTH = "The request does not say how long its body is."


@pytest.fixture
def bob(transactional_db: None, live_server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Cast]:
    """The command line speaks as bob, by environment variables."""
    cast = make_cast()
    _, token = create_token(cast.bob, name="terminal", scopes=["read", "submit", "write"], expires_in_days=1)
    monkeypatch.setenv("MLHUB_URL", live_server.url)
    monkeypatch.setenv("MLHUB_TOKEN", token)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    yield cast
    predictor_pool().close()
    predictor_pool.cache_clear()


def posted(address: str, body: bytes) -> tuple[int, dict[str, Any]]:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, body, method="POST"), timeout=600) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def answered(address: str, method: bytes, header: bytes) -> tuple[int, str]:
    """To a request that clients do not send."""
    where = urlsplit(address)
    with socket.create_connection((where.hostname, where.port), timeout=60) as connection:
        connection.sendall(method + b" /predict HTTP/1.1\r\nHost: here\r\n" + header + b"\r\n\r\n")
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        return answer.status, json.load(answer)["detail"].partition(". ")[0]


def test_a_built_in_model_s_name_means_what_the_project_has_trained_of_it(
    bob: Cast, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    version, _ = exported.table_of_flowers(tmp_path).registered(bob)
    assert version.model.name == "mlp (trained)"
    assert main(["model", "alias", "set", "mlp@best", str(version.number)]) == CommandStatus.OK, capsys.readouterr().err
    assert version.model.aliases.get().name == "best"
    dataset = version.dataset_version.dataset.name
    assert main(["run", "--dataset", dataset, "--model", "mlp@best", "-d"]) == CommandStatus.OK, capsys.readouterr().err
    assert Job.objects.get().model_version_id == version.pk


def test_a_version_and_a_trained_model_are_deleted_by_the_names_that_are_used_elsewhere(
    bob: Cast, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    version, _ = exported.table_of_flowers(tmp_path).registered(bob)
    model = version.model
    second = ModelVersion.objects.create(
        model=model, number=version.number + 1, source=version.source, kind=version.kind, state=version.state,
        code_version=version.code_version, contract=version.contract, created_by=bob.bob,
    )  # fmt: skip
    assert main(["model", "rm", "mlp:9", "--yes"]) == CommandStatus.REFUSED
    assert "has no version 9" in capsys.readouterr().err
    assert main(["model", "rm", f"mlp:{second.number}", "--yes"]) == CommandStatus.OK, capsys.readouterr().err
    assert [one.pk for one in model.versions.all()] == [version.pk]
    assert main(["model", "rm", "mlp", "--yes"]) == CommandStatus.OK, capsys.readouterr().err
    assert "Deleted: mlp (trained)." in capsys.readouterr().err
    assert not Model.objects.filter(pk=model.pk).exists()
    assert main(["model", "rm", "mlp", "--yes"]) == CommandStatus.USAGE  # the platform's own


def test_a_trained_version_is_shown_and_pulled_by_the_model_s_name(
    bob: Cast, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    version, _ = exported.table_of_flowers(tmp_path).registered(bob)
    assert main(["model", "alias", "set", "mlp@best", str(version.number)]) == CommandStatus.OK
    assert main(["model", "show", "mlp"]) == CommandStatus.OK
    assert "mlp (trained)" in capsys.readouterr().out
    for number, name in enumerate(("mlp", f"mlp:{version.number}", "mlp@best", str(version.pk))):
        folder = tmp_path / f"pulled-{number}"
        assert main(["model", "pull", name, "--to", str(folder)]) == CommandStatus.OK, capsys.readouterr().err
        assert (folder / "weights.safetensors").exists()
    capsys.readouterr()
    assert main(["model", "pull", "mlp:99"]) == CommandStatus.REFUSED
    assert "mlp (trained) has no trained version 99" in capsys.readouterr().err
    assert main(["model", "pull", "nothing"]) == CommandStatus.REFUSED
    assert "There is no model nothing" in capsys.readouterr().err
    version.dataset_version.dataset.delete()
    assert main(["model", "versions", "mlp"]) == CommandStatus.OK
    assert "v1 (deleted)" in capsys.readouterr().out


def test_versions_are_listed_and_a_job_begins_with_the_weights_of_one(
    bob: Cast, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    version, _ = exported.table_of_flowers(tmp_path).registered(bob)
    assert main(["model", "versions", "mlp (trained)"]) == CommandStatus.OK, capsys.readouterr().err
    (row,) = capsys.readouterr().out.splitlines()[1:]
    assert row.split()[:1] == [str(version.number)]
    assert "training" in row
    assert main(["model", "versions", "mlp"]) == CommandStatus.OK, capsys.readouterr().err
    (again,) = capsys.readouterr().out.splitlines()[1:]
    assert again.split()[:2] == row.split()[:2]
    assert main(["model", "ls"]) == CommandStatus.OK
    trained = next(line for line in capsys.readouterr().out.splitlines() if "mlp (trained)" in line)
    assert trained.split()[-1] == "1"
    assert main(["-p", "vision", "model", "ls"]) == CommandStatus.OK
    own, *built_in = [" ".join(line.split()[1:4]) for line in capsys.readouterr().out.splitlines()[1:]]
    assert own == "mlp (trained) vision"
    assert "mlp built in" in built_in
    dataset = version.dataset_version.dataset.name
    assert main(["dataset", "versions", dataset]) == CommandStatus.OK
    assert "ready" in capsys.readouterr().out
    named = f"mlp (trained):{version.number}"
    assert main(["run", "--dataset", dataset, "--model", named, "-d"]) == CommandStatus.OK, capsys.readouterr().err
    assert Job.objects.get().model_version_id == version.pk
    assert main(["run", "--dataset", dataset, "--model", "mlp (trained):99", "-d"]) == CommandStatus.REFUSED
    assert "no version 99" in capsys.readouterr().err
    assert main(["run", "--dataset", dataset, "--model", "mlp:1", "-d"]) == CommandStatus.REFUSED
    assert "may be a version of mlp or of mlp (trained)" in " ".join(capsys.readouterr().err.split())
    assert main(["run", "--dataset", dataset, "--model", "mlp (trained)", "-d"]) == CommandStatus.REFUSED
    assert "weights: mlp (trained):1" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_an_exported_model_is_unpacked_and_serves(
    bob: Cast, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version, _ = exported.table_of_houses(tmp_path).registered(bob)
    to = tmp_path / "to"
    assert main(["model", "export", "houses", "-o", str(to)]) == CommandStatus.OK, capsys.readouterr().err
    (folder,) = to.iterdir()
    assert folder.name == f"houses-{version.number}"
    assert main(["model", "export", "houses:2", "-o", str(to)]) == CommandStatus.USAGE
    assert "is there already" in " ".join(capsys.readouterr().err.split())
    assert main(["model", "export", "houses:1", "-o", str(to)]) == CommandStatus.REFUSED
    assert "it is code" in " ".join(capsys.readouterr().err.split())
    rows = tmp_path / "rows.csv"
    rows.write_text("rooms,area\n3,50\n,60\n")
    assert main(["-o", "json", "predict", "houses", "--data", str(rows)]) == CommandStatus.OK
    on_the_platform = json.loads(capsys.readouterr().out)
    rows.write_text("rooms;area\n3;50\n;60\n")
    assert main(["-o", "json", "predict", "houses", "--data", str(rows)]) == CommandStatus.OK
    assert json.loads(capsys.readouterr().out) == on_the_platform
    rows.write_text("rooms,area\n" + "3,50\n" * 300 + "many,50\n")
    assert main(["predict", "houses", "--data", str(rows)]) == CommandStatus.REFUSED
    assert "'many' in row 300 of rows.csv, which is no" in " ".join(capsys.readouterr().err.split())
    rows.write_text("rooms\n3\n")
    assert main(["predict", "houses", "--data", str(rows)]) == CommandStatus.REFUSED
    assert "Row 0 of rows.csv has no column area" in " ".join(capsys.readouterr().err.split())
    rows.write_text("rooms;area\n3;50\n;60\n")
    assert main(["model", "alias", "set", "houses@best", str(version.number)]) == CommandStatus.OK
    assert main(["model", "alias", "ls", "houses"]) == CommandStatus.OK
    assert "@best" in capsys.readouterr().out
    assert main(["-o", "json", "predict", "houses@best", "--data", str(rows)]) == CommandStatus.OK
    assert json.loads(capsys.readouterr().out) == on_the_platform
    dataset = version.dataset_version.dataset.name
    assert main(["run", "--dataset", dataset, "--model", "houses@best", "-d"]) == CommandStatus.OK
    assert Job.objects.get().model_version_id == version.pk, "it begins with those weights"
    assert main(["model", "alias", "rm", "houses@best", "--yes"]) == CommandStatus.OK
    with PredictionServer("127.0.0.1", 0) as server:
        server.model = ExportedModel(folder)
        server.server_activate()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}/predict"
        status, found = posted(address, b'{"rows": [{"rooms": 3, "area": 50}, {"rooms": null, "area": "60"}]}')
        assert status == 200
        expected = [row["prediction"] for row in on_the_platform]
        assert [row["prediction"] for row in found["predictions"]] == pytest.approx(expected, rel=1e-5)
        status, found = posted(address, b'{"rows": [{"rooms": 3}]}')
        assert (status, found["field"], found["detail"]) == (422, "area", "Row 0 has no column area.")
        status, found = posted(address, b'{"rows": [{"rooms": "many", "area": 1}]}')
        assert (status, found["field"]) == (422, "rooms")
        assert posted(address, b"[]")[0] == posted(address, b'{"rows": 5}')[0] == 400
        status, found = posted(address, b'{"rows": [{"rooms": 1e300, "area": 1}]}')
        assert (status, found["predictions"]) == (200, [{"prediction": None}]), "JSON has no number for what is none"
        assert answered(address, b"PUT", b"Content-Length: 0") == (501, "Unsupported method ('PUT')")
        assert answered(address, b"POST", b"Transfer-Encoding: chunked") == (411, NO_LENGTH)
        assert answered(address, b"POST", b"Content-Length: -5") == (411, NO_LENGTH)
        assert answered(address, b"POST", b"Content-Length: 99999999999")[0] == 413
        with monkeypatch.context() as patched:
            patched.setattr(ExportedModel, "__call__", lambda _self, _inputs: "no tensor")
            status, found = posted(address, b'{"rows": [{"rooms": 3, "area": 50}]}')
        assert (status, "The model gives no tensor" in found["detail"]) == (500, True)
        capsys.readouterr()
        assert serve(folder, ["--port", str(server.server_address[1])]) == 1, "the port is taken"
        assert "Give another one with --host or --port" in capsys.readouterr().err
        server.shutdown()
