# SPDX-License-Identifier: Apache-2.0
"""A job file says the same to the command line and to the dashboard, whichever of them wrote it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mlhub.cli import core_yaml, job_file
from mlhub.cli.failures import CommandError

ROOT = Path(__file__).resolve().parents[2]
NODE = Path(sys.executable).with_name("node")
# what YAML 1.1 and 1.2 read differently, or as something else than text
WORDS = (
    "1e-3", "1.e-7", "on", "Yes", "n", "010", "0o10", "0b11", "0x1F", "1:30", "2024-01-01", "1_000", "<<", "=", "~", "",
    "null", "TRUE", ".inf", "-.5", "+1", " a", "a ", "a: b", "# a", "a\nb", "\u2028", "'", '"', "- a", "é", "\t", "|",
    "@a",
)  # fmt: skip
DASHBOARD = """
const { CORE_SCHEMA, types, load, dump } = require(process.argv[1]);
const schema = CORE_SCHEMA.extend({ implicit: [types.merge] });
const { texts, values } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const answer = {
  read: texts.map((text) => load(text, { schema })),
  written: values.map((value) => dump(value, { lineWidth: 120, noRefs: true, schema })),
};
process.stdout.write(JSON.stringify(answer));
"""

text = st.one_of(st.sampled_from(WORDS), st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])))
EXACT = 2**53  # up to here the dashboard has each integer
number = st.one_of(
    st.integers(-EXACT, EXACT),
    st.floats(-EXACT, EXACT).filter(lambda x: x != 0),
    st.sampled_from([1e21, -1e300, 5e-324]),
)
value = st.recursive(
    st.one_of(st.none(), st.booleans(), number, text),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(text, inner, max_size=3)),
    max_leaves=8,
)
documents = st.lists(st.dictionaries(st.text("abcdefgh_", min_size=1), value, max_size=4), min_size=40, max_size=40)


def dashboard(*, texts: list[str], values: list[Any]) -> Any:
    argv = [NODE, "-e", DASHBOARD, str(ROOT / "frontend/node_modules/js-yaml")]
    asked = json.dumps({"texts": texts, "values": values})
    done = subprocess.run(argv, input=asked, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@given(documents)
@settings(max_examples=15, deadline=None)
def test_what_one_writes_the_other_reads(found: list[dict[str, Any]]) -> None:
    texts = [core_yaml.dump(one) for one in found]
    answer = dashboard(texts=texts, values=found)
    assert answer["read"] == found
    assert [core_yaml.load(one) for one in answer["written"]] == found
    assert [core_yaml.load(one) for one in texts] == found
    assert [yaml.safe_load(one) for one in texts] == found  # programs that read YAML 1.1


def test_what_people_type_is_read_alike() -> None:
    typed = "\n".join(f"{name}: {word}" for name, word in zip("abcdefghijklmnop", WORDS, strict=False))
    [read] = dashboard(texts=[typed], values=[])["read"]
    assert core_yaml.load(typed) == read
    assert core_yaml.load("learning_rate: 1e-3\nname: on") == {"learning_rate": 0.001, "name": "on"}
    assert job_file.with_changes({}, ["hyperparameters.lr=1e-3"]) == {"hyperparameters": {"lr": 0.001}}


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("epochs: 1\nepochs: 2\n", "'epochs' is there twice"),
        ("hyperparameters: {a: [1, .nan]}\n", "hyperparameters.a.1"),
    ],
)
def test_what_would_be_lost_is_refused(tmp_path: Path, content: str, named: str) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(content)
    with pytest.raises(CommandError, match=named):
        job_file.read(file)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("space.width={uniform: [0.1, .inf]}", "`space.width.uniform.1` must be a finite number"),
        ("space={width: {choice: [.nan]}}", "`space.width.choice.0` must be a finite number"),
        ("name=!!binary aGk=", "`name` is nothing that JSON can hold"),
        ("tags=&a [b, *a]", "`tags.1` is nothing that JSON can hold"),
    ],
)
def test_a_change_that_no_request_can_hold_is_refused(change: str, named: str) -> None:
    with pytest.raises(CommandError, match=named):
        job_file.with_changes({}, [change])
    assert job_file.with_changes({}, ["a=[1, true, null, {b: 1.5}]", "b=&x 1"]) == {
        "a": [1, True, None, {"b": 1.5}],
        "b": 1,
    }
