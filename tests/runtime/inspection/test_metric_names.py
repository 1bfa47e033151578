# SPDX-License-Identifier: Apache-2.0
"""What a dry run says of the metrics that a package computes: names as they are reported, and not too many."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.inspection.dry_run import try_out
from mlhub.wire.launch import ModelSpec
from mlhub.wire.report import MAX_VALUES
from tests.runtime.gang import Gang, write_blobs

CODE = """
from torch import nn
def build_model(hyperparameters):
    return nn.Linear(hyperparameters["input_shape"][0], hyperparameters["n_classes"])
def metrics(outputs, targets):
    return {NAMES}
"""


def dry_run(tmp_path: Path, names: str) -> list[str]:
    package, entry = tmp_path / "code.zip", f"model_{len(names)}"  # Python imports a module once a process
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr(f"{entry}.py", CODE.replace("NAMES", names))
    data, model = write_blobs(tmp_path / "blobs.npz"), ModelSpec(kind="package", entry=entry, package="code")
    spec = Gang(tmp_path, data, model=model, package=package).spec()
    found = try_out(spec, {"data": data, "code": package}, code=tmp_path / "code")
    metrics: list[str] = found["metrics"]
    return metrics


@pytest.mark.slow
def test_metrics_have_the_names_under_which_they_are_reported(tmp_path: Path) -> None:
    found = dry_run(tmp_path, "'top 5 accuracy': 0.5, 'gr\\u00f6\\ud800': 1.0, 'x' * 100_000: 1.0, 5: 1.0")
    assert {"eval/5", "eval/gr_", "eval/loss", "eval/top_5_accuracy"} < set(found)
    assert max(map(len, found)) == 250


@pytest.mark.slow
def test_more_metrics_than_a_report_has_are_refused_before_the_job_holds_gpus(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="There are 200,001 metrics") as refused:
        dry_run(tmp_path, "**{f'm{i}': 1.0 for i in range(200_000)}")
    assert refused.value.field == "metrics"
    assert str(MAX_VALUES) in str(refused.value)
