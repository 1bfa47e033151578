# SPDX-License-Identifier: Apache-2.0
"""Uploads as the platform asks about them: in the sandbox, by the command line; refusals name field and remedy."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from PIL import Image

from mlhub.runtime.data.moments import training_mask
from mlhub.runtime.data.readers.tables import reader as tables
from mlhub.runtime.data.readers.tables.description import N_PREVIEW
from mlhub.runtime.sandbox.execution import execute
from mlhub.runtime.sandbox.verdicts import End, SandboxLimits
from tests.runtime.gang import write_blobs

GIB = 2**30


def ask(tmp_path: Path, *argv: str) -> dict[str, Any]:
    ended = execute(
        ["-m", "mlhub.runtime.inspection.inspect", *argv],
        folder=tmp_path / "sandbox",
        limits=SandboxLimits(timeout_s=60, memory_bytes=4 * GIB),
        readable=[path for path in tmp_path.iterdir() if path.name != "sandbox"],
    )
    assert ended.exit_code == 0, ended.errors
    answer: dict[str, Any] = json.loads(ended.output)
    return answer


def dataset(tmp_path: Path, format: str, path: Path, **options: Any) -> dict[str, Any]:
    return ask(tmp_path, "dataset", "--format", format, "--path", str(path), "--options", json.dumps(options))


def refusal(answer: dict[str, Any]) -> dict[str, str]:
    assert not answer["ok"], answer
    assert answer["error"]["message"]
    assert answer["error"]["remedy"]
    error: dict[str, str] = answer["error"]
    return error


def zipped(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_an_npz_is_described_and_shown(tmp_path: Path) -> None:
    found = dataset(tmp_path, "npz", write_blobs(tmp_path / "x", n=40).with_suffix(".npz"))
    assert found["schema"]["task"] == "classification"
    assert (found["schema"]["n_examples"], found["schema"]["n_classes"]) == (40, 3)
    assert sum(found["schema"]["class_counts"]) == 40
    assert len(found["preview"]["rows"]) == 12


@pytest.mark.slow
def test_a_csv_needs_a_target_and_says_which_columns_there_are(tmp_path: Path) -> None:
    path = tmp_path / "iris.csv"
    path.write_text(
        "width,colour,species\n" + "".join(f"{i},{'red' if i % 2 else 'blue'},s{i % 3}\n" for i in range(30))
    )
    (problem,) = dataset(tmp_path, "csv", path)["problems"]
    assert "width, colour, species" in problem["remedy"]
    unknown = dataset(tmp_path, "csv", path, target="spices")
    assert ([p["column"] for p in unknown["problems"]], unknown["schema"]) == (["spices"], {})
    schema = dataset(tmp_path, "csv", path, target="species")["schema"]
    assert schema["classes"] == ["s0", "s1", "s2"]
    assert schema["input_shape"] == [3]  # one number, two colours


@pytest.mark.slow
def test_a_row_without_its_target_is_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("width,kind\n" + "".join(f"{i},{'a' if i % 2 else 'b'}\n" for i in range(10)) + "11,\n")
    found = dataset(tmp_path, "csv", path, target="kind")
    assert (found["schema"]["n_examples"], found["schema"]["n_rows"]) == (10, 11)
    assert "1 row" in found["statistics"]["columns"][1]["treatment"]


@pytest.mark.slow
def test_a_parquet_with_a_real_target_is_a_regression(tmp_path: Path) -> None:
    table = pa.table({"a": np.arange(20.0), "y": np.linspace(0, 1, 20)})
    pq.write_table(table, tmp_path / "t.parquet")
    assert dataset(tmp_path, "parquet", tmp_path / "t.parquet", target="y")["schema"]["task"] == "regression"


@pytest.mark.slow
def test_a_folder_of_images_is_resized_and_counted(tmp_path: Path) -> None:
    for label in ("cat", "dog"):
        for i in range(4):
            Image.new("RGB", (20 + i, 24), (60 * i, 0, 0)).save(tmp_path / f"{label}{i}.png")
    files = {f"pets/{n}/{i}.png": (tmp_path / f"{n}{i}.png").read_bytes() for n in ("cat", "dog") for i in range(4)}
    schema = dataset(tmp_path, "image_folder", zipped(tmp_path / "pets.zip", files))["schema"]
    assert schema["classes"] == ["cat", "dog"]
    assert schema["input_shape"][0] == 3
    error = refusal(dataset(tmp_path, "image_folder", zipped(tmp_path / "bad.zip", {**files, "pets/cat/x.png": b"no"})))
    assert "x.png" in error["message"]


@pytest.mark.slow
def test_text_is_windows_of_bytes(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("to be or not to be\n" * 50)
    found = dataset(tmp_path, "text", tmp_path / "t.txt")
    assert found["schema"]["task"] == "language_modelling"
    (tmp_path / "l.txt").write_bytes("größer".encode("latin-1") * 100)
    assert "UTF-8" in refusal(dataset(tmp_path, "text", tmp_path / "l.txt"))["message"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format", "content"), [("npz", b"PK\x03\x04 broken"), ("csv", b"a,b\n1\n2,3,4\n"), ("parquet", b"PAR1nonsense")]
)
def test_a_corrupt_file_is_refused(tmp_path: Path, format: str, content: bytes) -> None:
    (tmp_path / "f").write_bytes(content)
    assert refusal(dataset(tmp_path, format, tmp_path / "f", target="a"))["field"] == "file"


@pytest.mark.parametrize(("name", "code"), [("../escape/1.png", "path_traversal"), ("/etc/1.png", "path_traversal")])
def test_an_archive_that_reaches_outside_is_refused(tmp_path: Path, name: str, code: str) -> None:
    assert refusal(dataset(tmp_path, "image_folder", zipped(tmp_path / "z.zip", {name: b"x"})))["code"] == code


@pytest.mark.slow
def test_links_and_bombs_are_refused_before_they_are_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as archive:
        info = zipfile.ZipInfo("a/link.png")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    assert refusal(dataset(tmp_path, "image_folder", tmp_path / "link.zip"))["code"] == "link"
    bomb = zipped(tmp_path / "bomb.zip", {"a/1.png": bytes(100 * 2**20)})
    error = refusal(dataset(tmp_path, "image_folder", bomb))
    assert (error["code"], "200 times its packed size" in error["message"]) == ("archive_bomb", True)


NPY = b"\x93NUMPY\x01\x00"


def npy(shape: str, descr: str = "'<f4'") -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return NPY + len(header).to_bytes(2, "little") + header + bytes(64)


ARROW = b"ARROW1" + bytes(64) + b"ARROW1"
HOSTILE: dict[str, tuple[str, Any, str, str]] = {  # format, content, what the message has, what the remedy has
    "no Parquet": ("parquet", ARROW, "Parquet magic bytes not found", "pandas.read_parquet"),
    "no picture": ("image_folder", {"a/x.png": b"MZ", "b/x.png": b"MZ"}, "a/x.png cannot be read", "Repair"),
    "other kinds": ("image_folder", {"a/x.tiff": b"II", "b/x.svg": b"<svg/>"}, "read, and not .svg, .tiff.", "class"),
    "code in a header": ("npz", {"x.npy": npy("(4,)", "exit()"), "y.npy": npy("(4,)")}, "header of one", "numpy.savez"),
    "negative shape": ("npz", {"x.npy": npy("(-4, 4)"), "y.npy": npy("(4,)")}, "the shape (-4, 4)", "numpy.savez"),
    "long row": ("csv", b"a,y\n" + b"x" * 9_000_000 + b",0\n1,1\n", "a row is longer", "header line"),
    "columns": ("csv", b"c," * 20_000 + b"y\n1\n", "has 20,001 columns; 10,000 are allowed", "Leave out columns"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_refusal_speaks_of_the_file_and_not_of_the_platform_or_of_python(tmp_path: Path, name: str) -> None:
    format, content, message, remedy = HOSTILE[name]
    path = tmp_path / ("ab" * 32)
    if isinstance(content, dict):
        zipped(path, content)
    else:
        path.write_bytes(content)
    error = refusal(dataset(tmp_path, format, path, **({"target": "y"} if format in ("csv", "parquet") else {})))
    assert error["code"] == "invalid_file"
    assert message in error["message"]
    assert remedy in error["remedy"]
    for word in (str(tmp_path), "abab", "0x", "BytesIO", "Traceback", "/mlhub/", "block size"):
        assert word not in json.dumps(error), error


@pytest.mark.slow
def test_a_parquet_of_too_many_columns_is_refused_at_its_header(tmp_path: Path) -> None:
    pq.write_table(pa.table({f"c{i}": [1, 2] for i in range(10_001)}), tmp_path / "t.parquet")
    error = refusal(dataset(tmp_path, "parquet", tmp_path / "t.parquet", target="c0"))
    assert "10,001 columns" in error["message"]


@pytest.mark.slow
def test_a_package_is_imported_and_its_functions_are_listed(tmp_path: Path) -> None:
    code = (
        b'"""A line."""\nimport torch\nprint("hello")\n'
        b"def build_model(h): return torch.nn.Linear(1, 1)\ndef loss(o, t): pass\n"
    )
    found = ask(
        tmp_path,
        "model",
        "--kind",
        "package",
        "--entry",
        "model",
        "--path",
        str(zipped(tmp_path / "m", {"model.py": code})),
    )
    assert found["functions"] == ["build_model", "loss"]
    assert found["description"] == "A line."


def test_a_package_that_raises_is_refused_with_its_traceback(tmp_path: Path) -> None:
    package = zipped(tmp_path / "m", {"model.py": b"import nothing_of_that_name\n"})
    error = refusal(ask(tmp_path, "model", "--kind", "package", "--entry", "model", "--path", str(package)))
    assert "nothing_of_that_name" in error["message"]
    assert "model.py" in error["traceback"]


@pytest.mark.slow
def test_a_package_without_build_model_and_a_script_with_a_slip_are_refused(tmp_path: Path) -> None:
    package = zipped(tmp_path / "m", {"model.py": b"x = 1\n", "train.py": b"def (:\n"})
    for kind, entry in (("package", "model"), ("script", "train.py"), ("script", "other.py")):
        refusal(ask(tmp_path, "model", "--kind", kind, "--entry", entry, "--path", str(package)))


@pytest.mark.slow
def test_the_sandbox_ends_what_takes_too_long_or_too_much(tmp_path: Path) -> None:
    late = execute(["-c", "while True: pass"], folder=tmp_path, limits=SandboxLimits(0.5, GIB))
    assert late.end is End.TIME
    greedy = execute(["-c", "x = bytearray(2**31)"], folder=tmp_path, limits=SandboxLimits(20, GIB))
    assert (greedy.end, "MemoryError" in greedy.errors) == (End.MEMORY, True)


def test_the_sandbox_shows_nothing_of_the_platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLHUB_SECRET_KEY", "very secret")
    ended = execute(["-c", "import os; print(dict(os.environ))"], folder=tmp_path, limits=SandboxLimits(20, GIB))
    assert "very secret" not in ended.output
    assert os.environ["MLHUB_SECRET_KEY"] == "very secret"
    assert list(tmp_path.iterdir()) == []


LOOKING = """
import json, sys
from pathlib import Path
from mlhub.runtime.data import readers

def most():  # a child's ru_maxrss would count what its parent held
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024

format, path, small = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
options = {"tokenizer": "byte"} if format == "text" else {}
readers.inspect(format, small, options)
Path("/proc/self/clear_refs").write_text("5")  # the most held so far is forgotten
before = most()
found = readers.inspect(format, path, options)
print(json.dumps({"n": found.schema["n_examples"], "grew_bytes": most() - before}))
"""


def write_npz(path: Path, n: int) -> None:
    x = np.zeros((n, 100), dtype=np.float32)
    x[:, 0] = np.arange(n)
    np.savez_compressed(path, x=x, y=np.arange(n) % 2)


def numbers(n: int) -> pa.Table:
    values = np.random.default_rng(0).normal(size=n)
    return pa.table({**{f"c{i}": values + i for i in range(50)}, "target": np.arange(n) % 2})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format", "write", "sizes", "most_bytes"),
    [
        ("npz", write_npz, (200_000, 100), 72e6),
        ("csv", lambda path, n: pyarrow.csv.write_csv(numbers(n), path), (200_000, 20_000), 150e6),
        ("parquet", lambda path, n: pq.write_table(numbers(n), path, row_group_size=20_000), (200_000, 20_000), 100e6),
        ("text", lambda path, n: path.write_text("a line of it\n" * n), (6_000_000, 1000), 60e6),
    ],
    ids=["npz", "csv", "parquet", "text"],
)
def test_a_file_is_looked_into_in_a_fraction_of_the_memory_that_it_would_fill(
    format: str, write: Callable[[Path, int], Any], sizes: tuple[int, int], most_bytes: float, tmp_path: Path
) -> None:
    large, small = (tmp_path / f"{name}.npz" for name in ("large", "small"))
    for path, n in zip((large, small), sizes, strict=True):
        write(path, n)
    done = subprocess.run(
        [sys.executable, "-c", LOOKING, format, str(large), str(small)], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert found["n"] >= 200_000
    assert found["grew_bytes"] < most_bytes, "read whole, they take 80 to 250 MB"


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("target", ["whole", "real", "word", "flag"])
def test_a_table_is_described_the_same_whatever_is_read_at_a_time(
    format: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random, n = np.random.default_rng(1), 300
    columns: dict[str, Any] = {
        "real": 1e6 + random.normal(size=n),
        "whole": random.integers(0, 7, n),
        "word": [f"w{i}" for i in random.integers(0, 9, n)],
        "flag": random.integers(0, 2, n).astype(bool),
        "holes": [None if i % 3 == 0 else float(i) for i in range(n)],
        "empty": ["" if i % 4 else "x" for i in range(n)],
    }
    path = tmp_path / "t"
    table = pa.table(columns)
    if format == "csv":
        pyarrow.csv.write_csv(table, path)
    else:
        pq.write_table(table, path, row_group_size=64)
    reader = tables.CSV if format == "csv" else tables.PARQUET
    at_once = reader.inspect(path, {"target": target})
    monkeypatch.setattr(tables, "BLOCK_BYTES", 700)
    monkeypatch.setattr(tables, "N_ROWS", 37)
    in_parts = reader.inspect(path, {"target": target})
    assert in_parts.preview == at_once.preview
    assert len(in_parts.preview["rows"]) == N_PREVIEW
    for ours, theirs in zip(in_parts.schema["columns"], at_once.schema["columns"], strict=True):
        assert {k: v for k, v in ours.items() if k not in ("mean", "std")} == {
            k: v for k, v in theirs.items() if k not in ("mean", "std")
        }
        for key in {"mean", "std"} & ours.keys():
            assert ours[key] == pytest.approx(theirs[key], rel=1e-9)
    rest = [{k: v for k, v in found.schema.items() if k != "columns"} for found in (in_parts, at_once)]
    assert rest[0].keys() == rest[1].keys()
    for key, value in rest[0].items():
        assert value == (pytest.approx(rest[1][key], rel=1e-9) if isinstance(value, float) else rest[1][key])
    values = np.asarray(columns["real"])[training_mask(n, n_held_out=0)]
    if target != "real":
        column = next(c for c in at_once.schema["columns"] if c["name"] == "real")
        assert column["mean"] == pytest.approx(values.mean(), rel=1e-12)
        assert column["std"] == pytest.approx(values.std(), rel=1e-9)
