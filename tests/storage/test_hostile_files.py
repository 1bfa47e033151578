# SPDX-License-Identifier: Apache-2.0
"""Hostile files and packages through the platform's own door: each gets a verdict, and nothing of it runs outside.

Every file tries to write a mark into a folder of the platform, or to take more than there is.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from mlhub.storage.inspection import MAX_STORED_CHARACTERS, Verdict, inspect
from mlhub.tenants.models import Project
from tests.datasets.audio import encoded
from tests.datasets.files import tarred, zipped
from tests.runtime.importers.wire import message
from tests.storage.blobs import stored

GIB = 2**30
pytestmark = pytest.mark.django_db


class Marking:
    """Unpickled, it makes a folder."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.mark),)


def pickled_npz(mark: Path) -> bytes:
    out = io.BytesIO()
    np.savez(out, x=np.array([Marking(mark)] * 9, dtype=object), y=np.arange(9))
    return out.getvalue()


def bomb_npz(_: Path) -> bytes:
    """64 GiB of zeros by its header, a few bytes in the file."""
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (17179869184, 1), }"
    array = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
    return zipped({"x.npy": array, "y.npy": array})


def squeezed_npz(_: Path) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("x.npy", "w") as file:
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (100000000, 1), }"
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        for _ in range(400):
            file.write(bytes(10**6))
    return out.getvalue()


def png(width: int, height: int) -> bytes:
    """A picture of zeros, packed by a thousand."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(bytes(width + 1)) for _ in range(min(height, 500))) + packer.flush()
    size = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def image_bomb(_: Path) -> bytes:
    return zipped({f"{label}/{i}.png": png(60_000, 60_000) for label in ("a", "b") for i in range(2)})


def parquet_bomb(_: Path) -> bytes:
    """Two million times the same long word, which a dictionary keeps once."""
    out = io.BytesIO()
    column = pa.DictionaryArray.from_arrays(np.zeros(2_000_000, np.int8), pa.array(["x" * 10_000]))
    pa.parquet.write_table(pa.table({"word": column, "y": column}), out)
    return out.getvalue()


def formulas_csv(mark: Path) -> bytes:
    return f'a,b\n"=cmd|\'/c mkdir {mark}\'!A0",1\n"=HYPERLINK(""http://evil"")",2\n'.encode() * 6


def one_line_csv(_: Path) -> bytes:
    return b"a,b\n" + b'"' + b"x" * 50_000_000


def wide_csv(_: Path) -> bytes:
    return b",".join(b"c%d" % i for i in range(200_000)) + b"\n" + b",".join(b"1" for _ in range(200_000)) + b"\n"


def odd_tar(**header: Any) -> bytes:
    out, info = io.BytesIO(), tarfile.TarInfo("a.png")
    for name, value in header.items():
        setattr(info, name, value)
    out.write(info.tobuf(tarfile.GNU_FORMAT))
    return out.getvalue() + bytes(10240)


def linked_tar(_: Path) -> bytes:
    return odd_tar(type=tarfile.SYMTYPE, linkname="/etc/passwd")


def device_tar(_: Path) -> bytes:
    return odd_tar(type=tarfile.CHRTYPE, devmajor=1, devminor=5)


def tar_of_header(_: Path) -> bytes:
    """The name of a file, which is said to have 8 GiB."""
    return odd_tar(type=tarfile.GNUTYPE_LONGNAME, size=8 * GIB)


def crowded_tar(_: Path) -> bytes:
    return tarfile.TarInfo("a.png").tobuf() * 1_000_000


def squeezed_clips(_: Path) -> bytes:
    return zipped({f"{label}/1.flac": encoded(np.zeros(40_000_000, np.int16), format="FLAC") for label in "ab"})


def endless_clip(_: Path) -> bytes:
    head = struct.pack(
        "<4sI4s4sIHHIIHH4sI", b"RIFF", 2**32 - 1, b"WAVE", b"fmt ", 16, 1, 65_535, 48_000, 0, 0, 16, b"data", 2**32 - 1
    )
    return zipped({f"{label}/1.wav": head + bytes(4096) for label in "ab"})


DATASETS: dict[str, tuple[str, Callable[[Path], bytes], dict[str, Any]]] = {
    "pickles in an npz": ("npz", pickled_npz, {}),
    "an npz that claims 64 GiB": ("npz", bomb_npz, {}),
    "an npz that unpacks a thousandfold": ("npz", squeezed_npz, {}),
    "pictures of 3.6 gigapixels": ("image_folder", image_bomb, {}),
    "a parquet table that unpacks to 20 GB": ("parquet", parquet_bomb, {"target": "y"}),
    "a table with formulas of spreadsheets": ("csv", formulas_csv, {"target": "b"}),
    "a table of one endless line": ("csv", one_line_csv, {"target": "b"}),
    "a table with 200,000 columns": ("csv", wide_csv, {"target": "c0"}),
    "clips that unpack a thousandfold": ("audio_folder", squeezed_clips, {}),
    "a clip that claims a day": ("audio_folder", endless_clip, {}),
    "shards with a link out of the archive": ("webdataset", linked_tar, {}),
    "shards with a header of 8 GiB": ("webdataset", tar_of_header, {}),
    "shards with a device": ("webdataset", device_tar, {}),
    "a million empty files in a shard": ("webdataset", crowded_tar, {}),
    "pictures of 3.6 gigapixels in a shard": ("webdataset", lambda _: tarred({"a.png": png(60_000, 60_000)}), {}),
    "texts nested 100,000 deep": ("text_lines", lambda _: b'{"text": ' + b"[" * 100_000, {}),
    "a text that is a bomb": ("text", lambda _: gzip.compress(bytes(10**8)), {}),
}


def pickled_torch(mark: Path) -> bytes:
    return zipped({"model.pt": pickle.dumps(Marking(mark))})


def pickled_torch_archive(mark: Path) -> bytes:
    return zipped({"model.pt": zipped({"archive/data.pkl": pickle.dumps(Marking(mark)), "archive/version": b"3\n"})})


def keras_lambda(mark: Path) -> bytes:
    layer = {"class_name": "Lambda", "config": {"name": "l", "function": f"__import__('os').mkdir({str(mark)!r})"}}
    config = {"class_name": "Sequential", "config": {"layers": [layer]}}
    return zipped({"config.json": json.dumps(config).encode(), "model.weights.h5": b"x"})


def onnx_outside(_: Path) -> bytes:
    place = message((1, "location"), (2, "../../../../../../etc/passwd"))
    tensor = message((1, 2), (2, 1), (8, "w"), (13, place), (14, 1))
    return zipped({"m.onnx": message((1, 8), (7, message((2, "g"), (5, tensor))), (8, message((2, 13))))})


def deep_folders(_: Path) -> bytes:
    return zipped({"/".join(["d"] * 2000) + "/model.py": b"x = 1"})


def zip_bomb(_: Path) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("model.py", "w") as file:
        for _ in range(300):
            file.write(bytes(10**6))
    return out.getvalue()


def link_out(_: Path) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        link = zipfile.ZipInfo("model.py")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    return out.getvalue()


def deep_source(_: Path) -> bytes:
    return zipped({"model.py": b"x = " + b"(" * 100_000 + b")" * 100_000})


MODELS = {
    "a pickle that is called a model": pickled_torch,
    "a pickle in an archive of torch": pickled_torch_archive,
    "a Keras layer that is code": keras_lambda,
    "ONNX weights outside the archive": onnx_outside,
    "folders in 2,000 levels": deep_folders,
    "a zip that unpacks a thousandfold": zip_bomb,
    "a link out of the archive": link_out,
    "a source nested 100,000 deep": deep_source,
}


@pytest.fixture
def mark(settings: Any, tmp_path: Path) -> Path:
    settings.SANDBOX_ROOT, settings.BLOB_ROOT = tmp_path / "sandbox", tmp_path / "blobs"
    return tmp_path / "mark"


def inspect_model(path: Path, *, timeout_s: float) -> Verdict:
    argv = ("model", "--kind=package", "--entry=model", "--path", stored(path))
    return inspect(*argv, project=Project(), timeout_s=timeout_s)


def check(verdict: Verdict, mark: Path) -> None:
    assert not mark.exists()
    assert len(json.dumps(verdict.found)) <= MAX_STORED_CHARACTERS
    if verdict.error is not None:
        assert verdict.error["message"]
        assert verdict.error["remedy"]


@pytest.mark.slow
@pytest.mark.parametrize("name", DATASETS)
def test_a_hostile_dataset_gets_a_verdict(name: str, mark: Path, tmp_path: Path) -> None:
    format, write, options = DATASETS[name]
    path = tmp_path / "upload"
    path.write_bytes(write(mark))
    argv = ("dataset", f"--format={format}", f"--options={json.dumps(options)}", "--path", stored(path))
    verdict = inspect(*argv, project=Project(), timeout_s=60, memory_bytes=2 * GIB)
    check(verdict, mark)
    is_usable = verdict.error is None and bool((verdict.found or {}).get("schema"))
    assert is_usable == (name == "a table with formulas of spreadsheets")


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_hostile_model_file_is_refused(name: str, mark: Path, tmp_path: Path) -> None:
    path = tmp_path / "upload"
    path.write_bytes(MODELS[name](mark))
    verdict = inspect_model(path, timeout_s=60)
    check(verdict, mark)
    assert verdict.error is not None


def test_a_pickle_of_these_tests_does_run_where_it_is_loaded(mark: Path) -> None:
    pickle.loads(pickle.dumps(Marking(mark)))
    assert mark.is_dir()


FAKE = json.dumps({"ok": True, "functions": ["forged"], "files": [], "description": ""})
FORGERIES = {
    "prints an answer and leaves": f"print({FAKE!r}); import sys; sys.stdout.flush(); sys.exit(0)",
    "prints an answer and is quiet from then on": f"import os; os.write(1, {FAKE!r}.encode()); os._exit(0)",
    "leaves an answer for the end": "import atexit, os\ndef build_model(h): pass\n"
    f"atexit.register(os.write, 1, {FAKE!r}.encode())",
    "replaces json": "import sys, types; m = types.ModuleType('json'); m.dump = lambda *a, **k: None; "
    "m.dumps = m.loads = lambda *a, **k: ''; sys.modules['json'] = m; sys.exit(0)",
    "prints without end": "import sys\nwhile True: sys.stdout.write('x' * 2**20)",
    "raises what cannot be said": "class E(BaseException):\n  def __str__(s): raise E\n  __repr__ = __str__\nraise E",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FORGERIES)
def test_an_answer_that_is_only_printed_is_none(name: str, mark: Path, tmp_path: Path) -> None:
    path = tmp_path / "upload"
    path.write_bytes(zipped({"model.py": FORGERIES[name].encode()}))
    timeout_s = 6 if name == "prints without end" else 60  # it takes all the time that it is given
    verdict = inspect_model(path, timeout_s=timeout_s)
    check(verdict, mark)
    assert "forged" not in json.dumps(verdict.found)
    assert verdict.error is not None or verdict.found["functions"] == ["build_model"]


def test_an_answer_that_is_written_twice_is_none(mark: Path, tmp_path: Path) -> None:
    forge = f"""
import os
for descriptor in range(3, 64):
    try: os.write(descriptor, {FAKE!r}.encode())
    except OSError: pass
def build_model(h): pass
"""
    path = tmp_path / "upload"
    path.write_bytes(zipped({"model.py": forge.encode()}))
    verdict = inspect_model(path, timeout_s=60)
    assert verdict.error is not None
    assert verdict.error["code"] == "no_answer"
