# SPDX-License-Identifier: Apache-2.0
"""Whether a script could train together with others, told from its source."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlhub.runtime.scripts import distribution
from mlhub.runtime.scripts.distribution import may_be_distributed

PROGRAMS = Path(__file__).parents[2] / "scripts" / "programs"
ALONE = ("plain_torch", "nano_gpt", "sklearn_partial_fit", "keras_torch", "package_folder", "tensorboard_writer")
TOGETHER = ("ddp_digits", "hf_trainer", "lightning_ddp", "accelerate_loop", "horovod_torch", "torchrun_environment")


@pytest.mark.parametrize("name", ALONE)
def test_programs_of_one_process_are_told_from_their_source(name: str) -> None:
    assert not may_be_distributed(PROGRAMS / name)


@pytest.mark.parametrize("name", TOGETHER)
def test_programs_that_train_together_are_never_taken_for_alone(name: str) -> None:
    assert may_be_distributed(PROGRAMS / name)


@pytest.mark.parametrize(
    "code",
    [
        "from mlhub.runtime import kv",
        "import mlhub.runtime\nmlhub.runtime.job().rank",
        "rank = int(os.environ.get('RANK', 0))",
        "model = nn.parallel.DistributedDataParallel(model)",
    ],
)
def test_a_sign_in_any_file_of_the_package_counts(tmp_path: Path, code: str) -> None:
    (tmp_path / "train.py").write_text("import engine\n")
    assert not may_be_distributed(tmp_path)
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "__init__.py").write_text(code)
    assert may_be_distributed(tmp_path)


def test_what_is_too_large_to_be_read_counts_as_distributed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text("x = 1\n" * 100)
    monkeypatch.setattr(distribution, "MAX_BYTES", 100)
    assert may_be_distributed(tmp_path)
