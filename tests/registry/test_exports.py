# SPDX-License-Identifier: Apache-2.0
"""Exports: a folder that predicts where there is no mlhub, as the platform does, and why some models have none."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from mlhub.registry.export.description import ONNX
from mlhub.registry.export.source_code import builtin_source
from mlhub.registry.models import Model, ModelVersion
from mlhub.runtime.model.builtin import BUILTINS
from mlhub.runtime.prediction.inference import PREDICTION, PROBABILITIES
from tests.registry import exported
from tests.registry.packages import a_dataset, code_of, trained, upload

# one process imports torch, and what converts models, then each command runs in a fork of it
ELSEWHERE = """
import json, os, runpy, sys
sys.modules["mlhub"] = sys.modules["soundfile"] = None
import torch
asked = json.loads(sys.argv[1])
if any("convert.py" in argv for folder, argv in asked):
    import torch.export._trace, torch.onnx._internal.exporter._core, torch.onnx._internal.exporter._torchlib.ops
for folder, argv in asked:
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        sys.path[:] = [folder, *[path for path in sys.path if path]]
        sys.argv = argv
        runpy.run_path(argv[0], run_name="__main__")
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
TABLES = ("table_of_flowers", "table_of_customers", "table_of_sales")
CASES = (
    exported.table_of_flowers, exported.table_of_customers, exported.table_of_houses, exported.pictures, exported.story,
    exported.shards, exported.opinions, exported.sounds, exported.table_of_sales,
)  # fmt: skip
UNCONVERTIBLE = b"""
import torch
class Branching(torch.nn.Linear):
    def forward(self, x):
        return super().forward(x) if x.sum() > 0 else super().forward(-x)
def build_model(h):
    return Branching(h["input_shape"][0], 2)
"""


def run_elsewhere(*commands: tuple[Path, list[str]], cwd: Path) -> tuple[list[int], str]:
    """Runs each command in its folder, in a process that cannot import mlhub. Returns exit statuses and errors."""
    asked = json.dumps([[str(folder), argv] for folder, argv in commands])
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ELSEWHERE, asked],
        cwd=cwd, env={"OMP_NUM_THREADS": "1", "HOME": str(cwd)}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return [int(line) for line in ended.stdout.splitlines() if line.isdecimal()], ended.stderr


def unpacked(client, version: ModelVersion, folder: Path) -> Path:
    answer = client.get(f"/api/v1/models/{version.model_id}/versions/{version.number}/export")
    assert answer.status_code == 200, answer.content
    with zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as archive:
        assert archive.testzip() is None
        archive.extractall(folder)
    (found,) = folder.iterdir()
    return found


@pytest.mark.slow
def test_an_export_predicts_without_mlhub_what_the_platform_predicts(cast, tmp_path):
    victor = cast.client(cast.victor)
    cases = {each.__name__: each(tmp_path) for each in CASES}
    folders, expected = {}, {}
    for name, case in cases.items():
        version, inference = case.registered(cast)
        folders[name] = unpacked(victor, version, tmp_path / name)
        rows = np.arange(1 if name == "story" else 8)
        expected[name] = inference.predictions(rows)
    for name in TABLES:  # with the target, and with columns that the model does not use
        head = cases[name].file.read_text().splitlines(keepends=True)[:9]
        (folders[name] / "rows.csv").write_text("".join(head))
    plain = cases["table_of_houses"].file.read_text().splitlines()[1:9]
    houses = [{"rooms": int(line.split(",")[0]), "area": float(line.split(",")[1])} for line in plain]
    (folders["table_of_houses"] / "rows.json").write_text(json.dumps(houses))
    with zipfile.ZipFile(cases["pictures"].file) as archive:
        for i, name in enumerate(sorted(archive.namelist())):
            (folders["pictures"] / f"rows-{i}.png").write_bytes(archive.read(name))
    with tarfile.open(cases["shards"].file) as archive:
        for name in [name for name in archive.getnames() if name.endswith(".png")]:
            (folders["shards"] / f"rows-{name}").write_bytes(archive.extractfile(name).read())
    with zipfile.ZipFile(cases["sounds"].file) as archive:
        for i, name in enumerate(sorted(archive.namelist())):
            (folders["sounds"] / f"rows-{i}.wav").write_bytes(archive.read(name))
    opinions = [json.loads(line) for line in cases["opinions"].file.read_text().splitlines()[:8]]
    (folders["opinions"] / "rows.json").write_text(json.dumps(opinions))
    (folders["story"] / "rows.txt").write_text(cases["story"].file.read_text()[:32])
    commands = [
        (folder, ["predict.py", *sorted(path.name for path in folder.glob("rows*")), "--output", "found"])
        for folder in folders.values()
    ]
    statuses, errors = run_elsewhere(*commands, cwd=tmp_path)
    assert statuses == [0] * len(CASES), errors
    found = {name: json.loads((folder / "found").read_text()) for name, folder in folders.items()}
    for name in (*TABLES, "pictures", "shards", "opinions", "sounds"):
        np.testing.assert_allclose(
            exported.probabilities(found[name]), expected[name][PROBABILITIES], atol=1e-5, err_msg=name
        )
    classes = {"table_of_flowers": ["a", "b"], "table_of_customers": ["no", "yes"], "pictures": ["cats", "dogs"]}
    for name, words in classes.items():
        assert [row["prediction"] for row in found[name]] == [words[i] for i in expected[name][PREDICTION]]
    prices = [row["prediction"] for row in found["table_of_houses"]]
    np.testing.assert_allclose(prices, expected["table_of_houses"][PREDICTION], rtol=1e-5)
    (continued,) = found["story"]
    assert continued["prediction"] == expected["story"][PREDICTION][0].tolist()
    assert continued["next"][0]["token"] == continued["prediction"][-1]


@pytest.mark.slow
def test_an_export_names_the_file_that_it_cannot_use_and_runs_in_isolated_mode(cast, tmp_path):
    case = exported.pictures(tmp_path)
    folder = unpacked(cast.client(cast.victor), case.registered(cast)[0], tmp_path / "pictures")
    with zipfile.ZipFile(case.file) as archive:
        good = archive.read(sorted(archive.namelist())[0])
    rows = [{"image": base64.b64encode(content).decode()} for content in (good, good[:60])]
    files = {
        "good.png": good, "cut.png": good[:60], "words.png": b"no picture", "notes.doc": b"",
        "rows.json": json.dumps(rows).encode(),
    }  # fmt: skip
    for name, content in files.items():
        (folder / name).write_bytes(content)
    empty = tmp_path / "empty"
    empty.mkdir()

    def answer(*names: str) -> tuple[int, str]:
        command = [sys.executable, "-I", "-W", "ignore", str(folder / "predict.py"), *(str(folder / n) for n in names)]
        ended = subprocess.run(command, cwd=empty, capture_output=True, text=True, timeout=600)
        return ended.returncode, ended.stderr.strip()

    assert answer("good.png") == (0, "")
    expected = {
        ("good.png", "cut.png"): "predict.py: cut.png cannot be read as an image: ",
        ("words.png",): "predict.py: words.png cannot be read as an image: its format is not known. Give a PNG or JPEG",
        ("good.png", "rows.json"): "predict.py: Row 1 of rows.json cannot be read as an image: ",
        ("notes.doc",): "predict.py: notes.doc has a suffix that is not known. Give .csv",
        ("absent.png",): f"predict.py: {folder / 'absent.png'} cannot be read: No such file or directory.",
    }
    for names, words in expected.items():
        status, said = answer(*names)
        assert (status, said[: len(words)]) == (1, words)


@pytest.mark.slow
def test_an_export_names_what_is_wrong_with_each_kind_of_file_and_where(cast, tmp_path):
    """Of several files, too: the message has the file, and the row within it."""
    victor = cast.client(cast.victor)
    cases = {each.__name__: each(tmp_path) for each in (exported.table_of_flowers, exported.opinions, exported.sounds)}
    flowers, opinions, sounds = (
        unpacked(victor, case.registered(cast)[0], tmp_path / name) for name, case in cases.items()
    )
    lines = cases["table_of_flowers"].file.read_text().splitlines()
    header, good = lines[0], "\n".join(lines[:3]) + "\n"
    with zipfile.ZipFile(cases["sounds"].file) as archive:
        clip = archive.read(sorted(archive.namelist())[0])
    contents = {
        flowers: {
            "good.csv": good, "missing.csv": "length\n1\n", "header.csv": header + "\n", "empty.csv": "",
            "empty.json": " ", "empty.jsonl": "\n", "type.csv": good + "row 0,1,red,true,a\n",
            "short.csv": good + "1\n", "cut.json": "[1,", "number.json": "5",
            "unknown.csv": f"{header}\n1,2,mauve,true,a\n",
        },
        opinions: {"empty.txt": "", "no.jsonl": '{"text": "fine"}\n{"body": "fine"}\n', "number.json": '{"text": 5}'},
        sounds: {"cut.wav": clip[:30], "words.wav": "no clip"},
    }  # fmt: skip
    for folder, files in contents.items():
        for name, content in files.items():
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    expected = [
        (flowers, ["good.csv", "missing.csv"], "missing.csv has no column width."),
        (flowers, ["good.csv", "header.csv"], "header.csv has no rows."),
        (flowers, ["empty.csv"], "empty.csv has no rows."),
        (flowers, ["empty.json"], "empty.json has no rows."),
        (flowers, ["empty.jsonl"], "empty.jsonl has no rows."),
        (
            flowers,
            ["good.csv", "type.csv"],
            "The column length holds 'row 0' in row 2 of type.csv, which is no number.",
        ),
        (flowers, ["short.csv"], "short.csv cannot be read: row 2 has another number of columns than the header."),
        (flowers, ["cut.json"], "cut.json cannot be read: Expecting value"),
        (flowers, ["number.json"], "number.json is no object."),
        (opinions, ["empty.txt"], "empty.txt has no text."),
        (opinions, ["no.jsonl"], "Row 1 of no.jsonl has no text."),
        (opinions, ["number.json"], "number.json has no text."),
        (sounds, ["cut.wav"], "cut.wav cannot be read as audio: it ends too early."),
        (sounds, ["words.wav"], "words.wav cannot be read as audio: "),
    ]
    commands = [(folder, ["predict.py", *names]) for folder, names, _ in expected]
    statuses, errors = run_elsewhere(*commands, (flowers, ["predict.py", "unknown.csv"]), cwd=tmp_path)
    warning = "predict.py: warning: "
    said = [line for line in errors.splitlines() if line.startswith("predict.py: ") and not line.startswith(warning)]
    assert statuses == [1] * len(expected) + [0], errors
    unseen = "The column colour holds 'mauve' in row 0 of unknown.csv, which training did not see"
    assert [line for line in errors.splitlines() if line.startswith(f"{warning}{unseen}")], errors
    for line, (_, _, words) in zip(said, expected, strict=True):
        assert line.startswith(f"predict.py: {words}"), (line, words)


@pytest.mark.slow
def test_an_export_converts_itself_to_onnx_and_by_torch_export_and_checks_the_outputs(cast, tmp_path):
    """A model that cannot be converted gives the reason, and leaves no file."""
    victor = cast.client(cast.victor)
    cases = (exported.table_of_flowers, exported.story, exported.opinions, exported.sounds, exported.pictures)
    folders = [unpacked(victor, each(tmp_path).registered(cast)[0], tmp_path / each.__name__) for each in cases]
    branching = exported.table_of_flowers(tmp_path)
    branching.entry, branching.code = "branching", UNCONVERTIBLE
    refused = unpacked(victor, branching.registered(cast)[0], tmp_path / "branching")
    commands = [(folder, ["convert.py", "onnx", "model.onnx"]) for folder in folders]
    commands += [(folder, ["convert.py", "torch_export", "m.pt2"]) for folder in (folders[0], refused)]
    statuses, errors = run_elsewhere(*commands, cwd=tmp_path)
    assert statuses == [0, 0, 0, 0, 0, 0, 1], errors
    assert "convert.py: The model cannot be converted to torch_export: " in errors
    assert "torchvision" not in errors, "warnings that say nothing of the model"
    assert "FutureWarning" not in errors
    assert not (refused / "m.pt2").exists()
    assert all((folder / "model.onnx").stat().st_size > 1000 for folder in folders)
    session = onnxruntime.InferenceSession(folders[0] / "model.onnx")
    (width,) = json.loads((folders[0] / "preprocessing.json").read_text())["facts"]["input_shape"]
    found = session.run(None, {"inputs": np.zeros((3, width), np.float32)})[0]
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-5)  # probabilities
    read = torch.export.load(folders[0] / "m.pt2").module()
    np.testing.assert_allclose(read(torch.zeros(3, width)).detach().numpy(), found, atol=1e-5)


def test_the_packages_for_onnx_are_those_that_are_tested():
    pins = (Path(__file__).parents[2] / "requirements-dev.txt").read_text().splitlines()
    assert set(ONNX) <= set(pins)


def test_an_export_names_its_packages_and_where_it_comes_from(cast, tmp_path):
    version, _ = exported.table_of_houses(tmp_path).registered(cast)
    folder = unpacked(cast.client(cast.victor), version, tmp_path / "folder")
    about = json.loads((folder / "model.json").read_text())
    assert (about["lineage"]["job"], about["hyperparameters"]) == (str(version.job_id), {"width": 6})
    pins = (folder / "requirements.txt").read_text().split()
    assert [pin.partition("==")[0] for pin in pins] == ["torch", "numpy"]
    assert "+" not in pins[0]
    assert (folder / "code" / "houses.py").read_bytes() == exported.HOUSES
    assert "predict.py rows.csv" in (folder / "README.md").read_text()


@pytest.mark.parametrize("entry", BUILTINS)
def test_built_in_models_import_nothing_of_mlhub_in_an_export(entry):
    source = builtin_source(entry)
    assert "mlhub" not in source
    compile(source, entry, "exec")


def test_what_cannot_be_exported_is_refused_with_the_reason(cast):
    bob = cast.client(cast.bob)
    code = b"import mlhub.runtime\ndef build_model(h): pass\n"
    assert upload(bob, cast.project_a, filename="m.py", content=code).status_code == 201
    version = trained(code_of(Model.objects.get()), a_dataset(cast.project_a, cast.bob), cast.bob)

    def refusal(number: int) -> tuple[int, str, str]:
        answer = bob.get(f"/api/v1/models/{version.model_id}/versions/{number}/export")
        return answer.status_code, answer.json()["code"], answer.json()["detail"]

    assert refusal(2) == (422, "not_exportable", "m.py imports mlhub, which is not there elsewhere.")
    assert refusal(1) == (422, "not_exportable", "Version 1 of m has no weights: it is code.")
    shown = bob.get(f"/api/v1/model-versions/{version.pk}").json()["not_exportable"]
    assert shown["message"] == "m.py imports mlhub, which is not there elsewhere."
    assert "Leave that import out" in shown["remedy"]
    assert bob.get(f"/api/v1/model-versions/{version.code_version_id}").json()["not_exportable"] is None
    version.dataset_version.dataset.delete()
    assert refusal(2)[2] == "m.py imports mlhub, which is not there elsewhere."  # how inputs are read was kept
    ModelVersion.objects.filter(pk=version.pk).update(trained_on={})  # by an earlier version of MLHub
    assert refusal(2)[:2] == (409, "not_exportable")
    assert refusal(7)[0] == 404
