# SPDX-License-Identifier: Apache-2.0
"""Dates as people write them, in one format or in several: in training, predictions and exports alike."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlhub.runtime.data import readers
from mlhub.runtime.exported_model.inputs import read_rows
from mlhub.runtime.exported_model.tables import encoded_rows

N = 60


def table(path: Path, *dates: str) -> Path:
    rows = [f"{dates[i % len(dates)]};{i % 7};{'ab'[i % 2]}" for i in range(N)]
    path.write_text("sold;size;y\n" + "\n".join(rows) + "\n")
    return path


def inspected(path: Path, **options: Any) -> tuple[dict[str, Any], readers.InspectionResult]:
    found = readers.inspect("csv", path, {"target": "y", **options})
    return next(each for each in found.statistics["columns"] if each["name"] == "sold"), found


def test_dates_in_several_formats_are_each_read_in_its_own(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", "11.03.2022", "2022-03-12", "13/3/2022", "2022-03-14 12:00")
    column, found = inspected(path)
    assert (column["type"], column["used_as"], column["first"]) == ("date", "date", "2022-03-11T00:00:00")
    assert "%d.%m.%Y, %Y-%m-%d, %d/%m/%Y, %Y-%m-%d %H:%M" in column["treatment"]
    spec = next(spec for spec in found.schema["columns"] if spec["name"] == "sold")
    inputs, _ = readers.open_all("csv", path, found.schema | {"is_learnt": True, "drops_rows": False}).batch(
        np.arange(4)
    )
    days = inputs[:, 0].numpy() * spec["std"] + spec["mean"]
    first = datetime(2022, 3, 11, tzinfo=UTC).timestamp() / 86_400
    np.testing.assert_allclose(days - first, [0, 1, 2, 3.5], atol=1e-2)
    np.testing.assert_allclose(encoded_rows(read_rows(path)[:4], found.schema["columns"]), inputs, atol=1e-5)


def test_one_day_after_the_twelfth_says_the_order_for_all_with_slashes(tmp_path: Path) -> None:
    column, _ = inspected(table(tmp_path / "t.csv", "03/09/2022", "04/09/2022 10:30", "2022-01-01", "23/04/2019 08:00"))
    assert column["first"] == "2019-04-23T08:00:00"
    assert "%d/%m/%Y, %d/%m/%Y %H:%M" in column["treatment"]
    assert "the other way round" not in column["treatment"]
    column, _ = inspected(table(tmp_path / "t.csv", "03/09/2022", "2022-01-01"))
    assert "Day and month could be the other way round." in column["treatment"]


@pytest.mark.parametrize(
    ("dates", "unread"),
    [(("11.03.2022", "2022-03-12", "soon"), "soon"), (("13/03/2022", "03/13/2022"), "03/13/2022")],
)
def test_a_word_that_is_no_date_is_named_and_dates_are_not_offered_again(
    tmp_path: Path, dates: tuple[str, ...], unread: str
) -> None:
    _, found = inspected(table(tmp_path / "t.csv", *dates), types={"sold": "date"})
    (problem,) = found.problems
    assert repr(unread) in problem["message"]
    assert problem["remedy"] == "Choose another of number, category, text, split, or ignore it."
