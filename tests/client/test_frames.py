# SPDX-License-Identifier: Apache-2.0
"""What people hold in memory becomes files: the same rows, no row labels, words by their numbers."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mlhub.client.frames import array_upload, as_table, coded, table_upload


class Frame:
    """As pandas hands a DataFrame over: its row labels are a column, and the metadata say so."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


class Older:
    """A DataFrame that speaks the older protocol only."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __dataframe__(self, **options: Any) -> Any:
        return self._table.__dataframe__(**options)


TABLE = pa.table({"size": [3.0, 1.0, 2.0], "kind": ["b", "a", "a"]})


def test_every_kind_of_table_gives_the_same_columns_and_no_row_labels() -> None:
    labelled = TABLE.append_column("__index_level_0__", pa.array([7, 9, 8]))
    labelled = labelled.replace_schema_metadata({"pandas": json.dumps({"index_columns": ["__index_level_0__"]})})
    ranged = TABLE.replace_schema_metadata({"pandas": json.dumps({"index_columns": [{"kind": "range"}]})})
    for data in (TABLE, TABLE.to_pydict(), Frame(labelled), Frame(ranged), Older(TABLE)):
        assert as_table(data).to_pydict() == TABLE.to_pydict()
    with pytest.raises(TypeError, match="no table"):
        as_table([1, 2])


def test_a_table_is_sent_with_its_label_or_declared_to_have_none() -> None:
    sent = table_upload(TABLE, features=["size"], label="kind")
    assert sent.options == {"target": "kind"}
    assert pq.read_table(io.BytesIO(sent.content)).to_pydict() == TABLE.to_pydict()
    asked = table_upload(TABLE, features=["size"], label=None)
    assert asked.options == {"targets": "none"}
    assert pq.read_table(io.BytesIO(asked.content)).column_names == ["size"]
    with pytest.raises(ValueError, match="no column 'width'; there are: size, kind"):
        table_upload(TABLE, features=["width"], label="kind")


def test_the_same_content_and_options_have_the_same_name_and_nothing_else_has() -> None:
    x, y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 0])
    uploads = [array_upload(x, y), array_upload(x.copy(), y), array_upload(x, None), array_upload(x + 1, y)]
    names = [upload.name for upload in uploads]
    assert names[0] == names[1]
    assert len(set(names)) == 3
    with pytest.raises(ValueError, match="x has 3 examples and y 2"):
        array_upload(x, y[:2])


def test_words_are_numbered_in_order_and_new_ones_are_refused() -> None:
    numbers, classes = coded(np.array(["cat", "ant", "cat"]), None)
    assert (numbers.tolist(), classes) == ([1, 0, 1], ["ant", "cat"])
    assert coded(["cat"], classes)[0].tolist() == [1]
    with pytest.raises(ValueError, match="'dog' is new; the model was trained on ant, cat"):
        coded(["dog"], classes)
    assert coded(np.array([1.5, 2.5]), None)[1] is None
