# SPDX-License-Identifier: Apache-2.0
"""A model trained on a table with a column of its split: what is evaluated and predicted, and on which rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from mlhub.wire.launch import PredictionSpec, TrainingSpec
from tests.runtime.gang import Gang
from tests.runtime.prediction.test_prediction import answers, asking, trained

pytestmark = pytest.mark.slow

TESTED = [i for i in range(200) if i % 9 == 4]


def write(path: Path, *, is_reversed: bool = False, n: int = 200) -> Path:
    """Every target of the test part is the wrong one, so that no other split gives its accuracy."""
    random = np.random.default_rng(3)
    x = random.normal(0, 1, n)
    part = ["test" if i % 9 == 4 else "train" for i in range(n)]
    target = ["no" if (x[i] > 0) == (part[i] == "test") else "yes" for i in range(n)]
    table = pa.table({"x": x, "part": part, "target": target})
    pyarrow.csv.write_csv(table.take(list(range(n))[::-1]) if is_reversed else table, path)
    return path


@pytest.mark.dist
def test_the_rows_of_the_test_part_are_evaluated_and_predicted_wherever_they_stand(tmp_path: Path) -> None:
    data = write(tmp_path / "table.csv")
    training = TrainingSpec(epochs=25, batch_size=16, hyperparameters={"learning_rate": 0.02})
    options = {"types": {"part": "split"}}
    gang = trained(Gang(tmp_path, data, format="csv", options=options, training=training))
    assert gang.result()["metrics"]["eval/accuracy"] < 0.15

    predicted = pq.read_table(answers(asking(gang, PredictionSpec("predict", examples="held_out"))))
    assert predicted["row"].to_pylist() == TESTED
    evaluated = asking(gang, PredictionSpec("evaluate", examples="held_out"))
    answers_of(evaluated)
    assert evaluated.result()["metrics"] == pytest.approx(gang.result()["metrics"], rel=1e-6)

    turned = write(tmp_path / "turned.csv", is_reversed=True)
    other = asking(gang, PredictionSpec("evaluate", examples="held_out"), dataset=turned)
    answers_of(other)
    assert other.result()["metrics"] == pytest.approx(gang.result()["metrics"], rel=1e-5)
    every = pq.read_table(answers(asking(gang, PredictionSpec("predict"), dataset=turned)))
    assert every["row"].to_pylist() == list(range(200))


def answers_of(gang: Gang) -> None:
    gang.start()
    assert gang.wait() == {"worker-0": 0}, gang.logs()
