# SPDX-License-Identifier: Apache-2.0
"""A dry run reads the first examples of a large dataset: its memory does not grow with the number of rows."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mlhub.runtime.data import readers
from mlhub.runtime.data.readers import prepared
from mlhub.runtime.data.validation_options import read_validation
from mlhub.runtime.inspection.dry_run import N_READ
from mlhub.wire.launch import ModelSpec, TrainingSpec
from tests.datasets import files
from tests.runtime.gang import Gang

PEAK = """
import json, sys
from pathlib import Path
from mlhub.runtime.inspection.dry_run import try_out
from mlhub.wire.launch import PodSpec

def peak():
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))

path, spec = Path(sys.argv[1]), PodSpec.from_json(sys.argv[2])
before = peak()
profile = try_out(spec, {"data": path}, code=path.parent / "code")
print(json.dumps({"grown": peak() - before, "n_train": profile["n_train"], "n_held_out": profile["n_held_out"]}))
"""


@pytest.mark.parametrize(
    ("form", "content", "options"),
    [
        ("csv", lambda: files.customers(3000), {"target": "churned"}),
        ("json_lines", lambda: files.json_lines(3000), {"target": "species"}),
        ("parquet", lambda: files.parquet(9000), {}),
        ("npz", lambda: files.npz(3000), {}),
        ("image_folder", files.images, {"image_size": 8}),
        ("text", lambda: files.text() * 500, {}),
        ("text_lines", lambda: files.reviews(3000), {}),
    ],
)
@pytest.mark.parametrize("validation", [{}, {"validation_stratified": True}, {"validation_folds": 3}])
def test_its_examples_are_those_of_the_whole_dataset(
    form: str, content: Callable[[], bytes], options: dict[str, Any], validation: dict[str, Any],
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    (tmp_path / "data").write_bytes(content())
    schema = readers.inspect(form, tmp_path / "data", options).schema
    asked = read_validation(validation if schema["task"] == "classification" else {})
    whole = readers.open_split(form, tmp_path / "data", schema, validation=asked)
    monkeypatch.setattr(prepared, "SMALL_BYTES", 0)
    first = readers.open_first(form, tmp_path / "data", schema, validation=asked, n=N_READ)
    assert len(first.examples) == len(whole.examples)
    for chosen, expected in ((first.train, whole.train), (first.held_out, whole.held_out)):
        np.testing.assert_array_equal(chosen, expected)
        found, own = first.batch(chosen[:N_READ][::-1]), whole.batch(expected[:N_READ][::-1])
        assert all((a == b).all() for a, b in zip(found, own, strict=True))
    if schema["task"] != "language_modelling":
        np.testing.assert_array_equal(first.examples.targets(first.train), whole.examples.targets(whole.train))


@pytest.mark.slow
def test_ten_times_the_rows_take_no_more_memory(tmp_path: Path) -> None:
    found = {}
    for n in (100_000, 1_000_000):
        path = tmp_path / f"{n}.parquet"
        random = np.random.default_rng(0)
        columns = {f"f{i}": random.normal(size=n).astype("float32") for i in range(12)}
        pq.write_table(pa.table({**columns, "y": np.arange(n) % 2}), path, row_group_size=50_000)
        gang = Gang(
            tmp_path, path, format="parquet", options={"types": {"y": "category"}},
            model=ModelSpec(kind="builtin", entry="mlp"), training=TrainingSpec(epochs=1, batch_size=32),
        )  # fmt: skip
        ended = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", PEAK, str(path), gang.spec().to_json()],
            capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        found[n] = json.loads(ended.stdout.splitlines()[-1])
    assert found[1_000_000]["n_train"] == 800_000
    assert found[1_000_000]["grown"] < found[100_000]["grown"] + 100 * 2**20, found
