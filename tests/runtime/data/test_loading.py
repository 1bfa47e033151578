# SPDX-License-Identifier: Apache-2.0
"""Large datasets are mapped, not loaded; what one pod prepared is there for others; the next batch is ready in time."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from mlhub.runtime.data import readers
from mlhub.runtime.data.node_cache import NodeCache
from mlhub.runtime.data.prefetching import Prefetcher
from mlhub.runtime.data.readers import image_folder, prepared
from mlhub.runtime.data.readers import npz as npz_reader
from mlhub.runtime.data.readers.tables import reader as tables
from mlhub.runtime.data.validation_split import ValidationSplit
from mlhub.runtime.strategies.protocol import Batch
from tests.runtime.gang import ROOT

RANDOM = np.random.default_rng(0)


def npz(path: Path) -> None:
    x, y = RANDOM.integers(0, 255, (70, 3, 4, 5)).astype(np.uint8), RANDOM.choice([3, 5, 9], 70)
    np.savez_compressed(path, x=x[:60], y=y[:60], x_test=x[60:], y_test=y[60:])


def flat_npz(path: Path) -> None:
    np.savez(path, x=RANDOM.normal(0, 1, 50).astype(np.float32), y=RANDOM.normal(0, 1, 50))


def table() -> pa.Table:
    colours = RANDOM.choice(["red", "blue"], 90)
    numbers = pa.array([None if i % 7 == 0 else i / 3 for i in range(90)])
    return pa.table({"a": numbers, "c": colours, "target": RANDOM.choice(["x", "y", "z"], 90)})


def images(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for label in ("cat", "dog"):
            for i in range(5):
                with archive.open(f"{label}/{i}.png", "w") as file:
                    Image.new("RGB", (9, 9), (40 * i, 7, 0)).save(file, "PNG")


FILES: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "npz": ("npz", npz),
    "flat": ("npz", flat_npz),
    "csv": ("csv", lambda path: pyarrow.csv.write_csv(table(), path)),
    "parquet": ("parquet", lambda path: pq.write_table(table(), path)),
    "images": ("image_folder", images),
}


@pytest.mark.parametrize("name", FILES)
def test_what_is_mapped_is_what_would_have_been_loaded(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(npz_reader, "PART_BYTES", 600)
    monkeypatch.setattr(tables, "N_ROWS", 25)
    monkeypatch.setattr(image_folder, "N_AT_ONCE", 3)
    format, write = FILES[name]
    path = tmp_path / ("x.npz" if format == "npz" else "x")
    write(path)
    schema = readers.inspect(format, path, {}).schema
    loaded = readers.open_split(format, path, schema, validation=ValidationSplit())
    monkeypatch.setattr(prepared, "SMALL_BYTES", 10)
    cache = NodeCache(tmp_path / "cache")
    mapped = readers.open_split(format, path, schema, validation=ValidationSplit(), cache=cache, sha256="ab")
    assert len(mapped.examples) == len(loaded.examples)
    everything = np.arange(len(loaded.examples))[::-1]
    for ours, theirs in zip(mapped.batch(everything), loaded.batch(everything), strict=True):
        assert ours.dtype == theirs.dtype
        assert torch.equal(ours, theirs)
    assert mapped.train.tolist() == loaded.train.tolist()


def test_a_column_whose_later_rows_look_unlike_its_first_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "BLOCK_BYTES", 200)
    rows = "".join(f"{i},{i % 2}\n" for i in range(100)) + "0.5,1\nnan,0\n"
    (tmp_path / "t.csv").write_text("a,target\n" + rows)
    schema = readers.inspect("csv", tmp_path / "t.csv", {}).schema
    reader = tables.CSV
    assert isinstance(reader, prepared.PreparedParts)
    inputs = np.concatenate([part for part, _ in reader.parts(tmp_path / "t.csv", schema)])
    np.testing.assert_array_equal(inputs, reader.open(tmp_path / "t.csv", schema)._inputs)


LARGE = """
import resource, sys
from pathlib import Path
import numpy as np, torch
from mlhub.runtime.data import readers
from mlhub.runtime.data.node_cache import NodeCache
from mlhub.runtime.data.validation_split import ValidationSplit
path, cache = map(Path, sys.argv[1:])
schema = {"task": "classification", "classes": [0, 1], "n_examples": 50_000, "input_shape": [600], "dtype": "float32"}
used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
limit = used + 60 * 2**20
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
split = readers.open_split("npz", path, schema, validation=ValidationSplit(), cache=NodeCache(cache), sha256="ab")
total = sum(float(split.batch(split.train[i : i + 500])[0].sum()) for i in range(0, len(split.train), 500))
print(total)
"""


@pytest.mark.slow
def test_a_dataset_larger_than_memory_is_trained_on(tmp_path: Path) -> None:
    x = np.ones((50_000, 600), np.float32)  # 120 MB, read with 60 MB to spare
    np.savez(tmp_path / "x.npz", x=x, y=np.arange(50_000) % 2)
    ended = subprocess.run(
        [sys.executable, "-c", LARGE, str(tmp_path / "x.npz"), str(tmp_path / "cache")],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert float(ended.stdout) == 40_000 * 600


def test_many_who_want_the_same_make_it_once_and_what_fails_leaves_nothing(tmp_path: Path) -> None:
    made: list[int] = []

    def make(folder: Path) -> None:
        made.append(1)
        time.sleep(0.1)
        (folder / "it").write_text("whole")

    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.append((NodeCache(tmp_path / "c").get("k", make) / "it").read_text()))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (found, made) == (["whole"] * 8, [1])

    def fail(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        NodeCache(tmp_path / "c").get("other", fail)
    assert [p.name for p in (tmp_path / "c").iterdir() if not p.name.startswith(".")] == ["k"]


def test_what_no_pod_uses_is_given_up_for_room_longest_unused_first(tmp_path: Path) -> None:
    def make(folder: Path) -> None:
        (folder / "it").write_bytes(bytes(100))

    folder = tmp_path / "c"
    user, other = NodeCache(folder, max_bytes=250), NodeCache(folder, max_bytes=250)
    user.get("in use", make)
    for name, age_s in (("old", 50), ("older", 90)):
        os.utime(other.get(name, make), (time.time() - age_s,) * 2)
    os.utime(folder / "in use", (0, 0))
    other.close()
    NodeCache(folder, max_bytes=250).get("new", make)
    assert {p.name for p in folder.iterdir() if not p.name.startswith(".")} == {"in use", "new"}


def test_what_died_while_it_was_made_and_what_no_pod_named_as_an_entry_are_given_up_too(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    (folder / ".killed.new").mkdir(parents=True)
    (folder / ".killed.new" / "half").write_bytes(bytes(100))
    (folder / ".hidden").write_bytes(bytes(10**6))
    (folder / "plain").write_bytes(bytes(10**6))
    NodeCache(folder, max_bytes=10**5).get("new", lambda entry: (entry / "it").write_bytes(bytes(100)))
    assert {p.name for p in folder.iterdir() if not p.name.endswith((".lock", ".making"))} == {"new"}


def test_the_next_batches_are_made_while_this_one_is_trained_on() -> None:
    threads: dict[Batch, str] = {}

    def make(order: Batch) -> list[tuple[torch.Tensor, torch.Tensor]]:
        threads[order] = threading.current_thread().name
        return [(torch.full((1,), order.step), torch.full((1,), order.part))]

    def foresee(order: Batch) -> Batch | None:
        return Batch(order.step + 1, 0, 2) if order.step < 40 else None

    orders = [Batch(step, 0, 2) for step in range(20)] + [Batch(20, 1, 2)] + [Batch(step, 0, 2) for step in (21, 40)]
    prefetcher = Prefetcher(make, foresee)
    for order in orders:
        ((inputs, targets),) = prefetcher.get(order)
        assert (int(inputs), int(targets)) == (order.step, order.part)
    prefetcher.close()
    assert {order.step for order in orders if not threads[order].startswith("prefetch")} == {0, 20}, (
        "20 was foreseen wrongly"
    )


def test_batches_are_not_made_far_ahead() -> None:
    made = []

    def make(order: Batch) -> list[tuple[torch.Tensor, torch.Tensor]]:
        made.append(order.step)
        return [(torch.zeros(2**22), torch.zeros(1))]

    prefetcher = Prefetcher(make, lambda order: Batch(order.step + 1, 0, 1))
    for step in range(10):
        prefetcher.get(Batch(step, 0, 1))
        assert len(made) <= step + 1 + 2 * 2, "two stretches of at most two batches of 16 MB"
    prefetcher.close()


def test_what_goes_wrong_while_reading_is_reported_when_it_is_needed() -> None:
    def make(order: Batch) -> list[tuple[torch.Tensor, torch.Tensor]]:
        if order.step == 2:
            raise ValueError("broken picture")
        return []

    prefetcher = Prefetcher(make, lambda order: Batch(order.step + 1, 0, 1))
    prefetcher.get(Batch(0, 0, 1))
    prefetcher.get(Batch(1, 0, 1))
    with pytest.raises(ValueError, match="broken picture"):
        prefetcher.get(Batch(2, 0, 1))
    prefetcher.close()
