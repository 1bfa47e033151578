# SPDX-License-Identifier: Apache-2.0
"""Learning curves of many hyperparameters on two sets, really trained, for the benchmark and the tests of studies.

    python -m benchmarks.study_curves

writes benchmarks/recorded/study_curves.json: of each set the search space, and of each of its points the accuracy on
held-out examples after every epoch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from pydoc_data import topics
from typing import Any

import numpy as np
import torch
from torch import nn

from mlhub.demo.material import digits_csv
from mlhub.experiments.algorithms.space_files import read_space

RECORDED = Path(__file__).parent / "recorded" / "study_curves.json"
N_POINTS, N_EPOCHS, SEED = 81, 27, 0
CONTEXT, N_EXAMPLES = 8, 12_000
SPACE: dict[str, Any] = {
    "learning_rate": {"log_uniform": [1e-4, 3.0]},
    "momentum": {"uniform": [0.0, 0.99]},
    "width": {"int": [4, 128], "log": True},
    "batch_size": {"choice": [16, 32, 64, 128]},
    "weight_decay": {"log_uniform": [1e-6, 1e-1]},
}
LabelledExamples = tuple[torch.Tensor, torch.Tensor]


def digits() -> LabelledExamples:
    """1,797 digits of 8 x 8 pixels."""
    rows = np.loadtxt(digits_csv().decode().splitlines(), delimiter=",", skiprows=1, dtype=np.float32)
    return torch.from_numpy(rows[:, :-1] / 16), torch.from_numpy(rows[:, -1].astype(np.int64))


def prose() -> LabelledExamples:
    """The next character of Python's language reference out of the last 8, each as one of 32 classes."""
    text = "\n\n".join(topics.topics[name] for name in sorted(topics.topics))[: N_EXAMPLES + CONTEXT].lower()
    classes = torch.tensor([ord(c) - 96 if "a" <= c <= "z" else 27 + ord(c) % 5 for c in text])
    windows = classes.unfold(0, CONTEXT, 1)[:-1]
    return nn.functional.one_hot(windows, 32).float().flatten(1), classes[CONTEXT:]


SETS: Mapping[str, tuple[Any, int]] = {"digits": (digits, 10), "prose": (prose, 32)}


def curve(examples: LabelledExamples, n_classes: int, point: Mapping[str, Any]) -> list[float]:
    """Held-out accuracy after each epoch; the same for the same point."""
    torch.manual_seed(SEED)
    x, y = examples
    order = torch.randperm(len(x))
    x, y, n_train = x[order], y[order], len(x) * 4 // 5
    width, batch_size = int(point["width"]), int(point["batch_size"])
    model = nn.Sequential(nn.Linear(x.shape[1], width), nn.ReLU(), nn.Linear(width, n_classes))
    optimizer = torch.optim.SGD(
        model.parameters(),
        lr=float(point["learning_rate"]),
        momentum=float(point["momentum"]),
        weight_decay=float(point["weight_decay"]),
    )
    found = []
    for _ in range(N_EPOCHS):
        for chosen in torch.randperm(n_train).split(batch_size):
            loss = nn.functional.cross_entropy(model(x[chosen]), y[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            right = model(x[n_train:]).argmax(1) == y[n_train:]
        found.append(round(float(right.float().mean()), 4))
    return found


def main() -> None:
    torch.set_num_threads(1)
    space, recorded = read_space(SPACE), {}
    for name, (load, n_classes) in SETS.items():
        examples = load()
        points = [space.sample(number, seed=SEED) or {} for number in range(N_POINTS)]
        curves = [curve(examples, n_classes, point) for point in points]
        recorded[name] = {"about": load.__doc__, "points": points, "curves": curves}
        print(name, "best", max(each[-1] for each in curves))
    RECORDED.parent.mkdir(exist_ok=True)
    RECORDED.write_text(json.dumps({"space": SPACE, **recorded}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
