# SPDX-License-Identifier: Apache-2.0
"""python -m benchmarks.defaults [--sklearn PYTHON]: how well what names only data and model is trained.

Real data as people bring it goes through inspection, defaults (jobs/submission/training_defaults.py) and a trainer,
with no hyperparameter at all. On the same held-out fifth: scikit-learn's own defaults, and a torch loop with a
rate and a length chosen by hand. PYTHON: an interpreter with scikit-learn; without it those columns stay empty.
Writes benchmarks/results/defaults.md.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.defaults_sets import SETS, Set
from benchmarks.defaults_tuned import tuned
from mlhub.jobs.submission.training_defaults import training_defaults
from mlhub.runtime.data import readers
from mlhub.runtime.data.readers import Split
from mlhub.runtime.data.validation_split import ValidationSplit
from mlhub.wire.launch import ModelSpec, TrainingSpec
from tests.runtime.gang import Gang

RESULTS = Path(__file__).parent / "results" / "defaults.md"
PEER = Path(__file__).parent / "peers" / "plain_sklearn.py"
N_DRAWS = 3
LINEAR = ("logistic regression", "ridge")
HEAD = """# What a job without hyperparameters learns

`make bench-defaults` writes this page. Each row names data and model only; MLHub chooses epochs, batch size, rate and
units. All columns are scored on the same fifth of the examples, which no model was trained on: percent that are right;
R² of a regression; bits for each byte of a text (less is better). Means over {n} draws of that fifth{peers}.

*by hand*: the same network in a plain torch loop on standardised numbers, with the better of two rates and two lengths
by its own held-out score, which flatters it a little. *as it came*: MLHub with `"standardise": false`, so numbers in
their own units.

| data | model | MLHub | as it came | linear model | random forest | by hand |
|---|---|---|---|---|---|---|
"""


def score(split: Split, metrics: Mapping[str, float]) -> float:
    """Of a trainer's own evaluation: percent, R2 or bits a byte."""
    if "eval/bits_per_byte" in metrics:
        return metrics["eval/bits_per_byte"]
    if "eval/accuracy" in metrics:
        return 100 * metrics["eval/accuracy"]
    own = np.concatenate([split.batch(part)[1].numpy() for part in np.array_split(split.held_out, 8) if len(part)])
    # the loss is in variances of the whole dataset, R2 in those of its held-out part
    return 1 - metrics["eval/loss"] * float(split.facts["target_std"]) ** 2 / float(own.var())


def trained(folder: Path, data: Path, each: Set, hyperparameters: Mapping[str, Any], seed: int) -> dict[str, float]:
    """Final metrics. Raises RuntimeError when the trainer does not end well."""
    folder.mkdir()
    package = None
    if each.is_own:
        package = folder / "code.zip"
        with zipfile.ZipFile(package, "w") as archive:
            archive.writestr("own_model.py", each.model)
    schema = readers.inspect(each.format, data, each.options).schema
    course = training_defaults(schema, {})
    gang = Gang(
        folder,
        data,
        format=each.format,
        options=dict(each.options),
        model=ModelSpec("package", "own_model", "code") if each.is_own else ModelSpec("builtin", each.model),
        package=package,
        training=TrainingSpec(**course, seed=seed, hyperparameters=dict(hyperparameters)),
    )
    gang.start()
    if set(gang.wait(seconds=900).values()) != {0}:
        raise RuntimeError(gang.logs())
    found: dict[str, float] = gang.result()["metrics"]
    return found


def by_sklearn(folder: Path, python: str, split: Split) -> dict[str, float]:
    x, y = split.batch(split.train)
    x_test, y_test = split.batch(split.held_out)
    np.savez(folder / "peer.npz", x=x.numpy(), y=y.numpy(), x_test=x_test.numpy(), y_test=y_test.numpy())
    done = subprocess.run([python, str(PEER), str(folder / "peer.npz")], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def row(name: str, each: Set, python: str | None, n_draws: int) -> str:
    columns: dict[str, list[float]] = {"ours": [], "raw": [], "linear": [], "forest": [], "tuned": []}
    for draw in range(n_draws):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            data = each.write(folder, draw)
            schema = readers.inspect(each.format, data, each.options).schema
            split = readers.open_split(each.format, data, schema, validation=ValidationSplit())
            columns["ours"].append(score(split, trained(folder / "ours", data, each, {}, draw)))
            if "input_mean" in schema:
                as_it_came = trained(folder / "raw", data, each, {"standardise": False}, draw)
                columns["raw"].append(score(split, as_it_came))
            if python is not None and each.format != "text":
                for model, value in by_sklearn(folder, python, split).items():
                    columns["linear" if model in LINEAR else "forest"].append(value)
            columns["tuned"].append(score(split, tuned(each, split, seed=draw)))
    is_percent = "accuracy" in _kind(schema)
    scores = [_figure(columns[key], is_percent=is_percent) for key in ("ours", "raw", "linear", "forest", "tuned")]
    model = "the user's" if each.is_own else each.model
    return f"| {name.removeprefix('own: ')}: {each.about} | {model} | {' | '.join(scores)} |"


def _kind(schema: Mapping[str, Any]) -> str:
    return "accuracy" if schema["task"] == "classification" else str(schema["task"])


def _figure(values: list[float], *, is_percent: bool) -> str:
    if not values:
        return "–"
    return f"{fmean(values):.1f} %" if is_percent else f"{fmean(values):.3f}"


def rows(python: str | None, n_draws: int, only: list[str]) -> Iterator[str]:
    for name, each in SETS.items():
        if not only or name in only:
            # words in prose and pictures of thousands take minutes: one draw is enough
            yield row(name, each, python, 1 if each.format == "text" or "mnist" in name else n_draws)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.defaults", description=__doc__)
    parser.add_argument("--sklearn", metavar="PYTHON", help="an interpreter with scikit-learn")
    parser.add_argument("--draws", type=int, default=N_DRAWS)
    parser.add_argument("--only", nargs="*", default=[], help="names of sets; then the page is printed, not written")
    given = parser.parse_args()
    peers = "" if given.sklearn else "; scikit-learn was not at hand (`--sklearn PYTHON`)"
    page = HEAD.format(n=f"{given.draws} (MNIST and prose: 1)", peers=peers)
    for line in rows(given.sklearn, max(1, math.ceil(given.draws)), given.only):
        print(line, flush=True)
        page += line + "\n"
    if not given.only:
        RESULTS.write_text(page)


if __name__ == "__main__":
    main()
