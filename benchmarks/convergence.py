"""python -m benchmarks.convergence: every scheme on real digits and real prose, alone and beside a slow worker.

Writes benchmarks/results/convergence.md and .png. All train the same small networks on the same number of examples,
with real processes: three workers, one of which is slow in the second half of the runs, and servers where needed.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.convergence_sets import TASKS, Task
from mlhub.runtime.strategies.schema import SCHEMES, parse
from mlhub.wire.launch import Mode, ModelSpec, TrainingSpec
from tests.runtime.gang import Gang

RESULTS = Path(__file__).parent / "results" / "convergence.md"
N_WORKERS, SLOW_S = 3, 0.02
NOT_COMPARED = {"auto", "single", "hybrid", "sparse_rows"}  # hybrid needs four workers, sparse_rows embeddings
STRATEGIES: tuple[Mapping[str, Any], ...] = (
    {"name": "all_reduce"},
    {"name": "all_reduce", "compression": "fp16"},
    {"name": "all_reduce", "compression": "one_bit"},
    {"name": "all_reduce", "compression": "two_bit", "threshold": 0.01},
    {"name": "all_reduce", "compression": "top_k", "density": 0.05},
    {"name": "all_reduce", "compression": "power_sgd", "rank": 2},
    {"name": "all_reduce", "reduction": "adasum"},
    {"name": "main_worker"},
    {"name": "sharded"},
    {"name": "fully_sharded"},
    {"name": "pipeline"},
    {"name": "tensor"},
    {"name": "bsp"},
    {"name": "bsp", "compression": "one_bit"},
    {"name": "hierarchical"},
    {"name": "asp"},
    {"name": "asp", "staleness_scaling": "zhang"},
    {"name": "asp", "staleness_scaling": "dc"},
    {"name": "bounded_delay"},
    {"name": "ssp", "staleness": 0},
    {"name": "ssp", "staleness": 3},
    {"name": "softsync", "group": 3},
    {"name": "softsync", "group": 3, "block": True},
    {"name": "k_of_n", "k": 2},
    {"name": "downpour", "n_push": 5, "n_fetch": 5},
    {"name": "adag", "window": 5},
    {"name": "dynsgd", "window": 5},
    {"name": "easgd", "window": 5},
    {"name": "averaging", "period": 10},
    {"name": "block_momentum", "period": 10},
    {"name": "gossip"},
    {"name": "random_gossip"},
    {"name": "push_sum"},
    {"name": "gosgd", "probability": 0.2},
    {"name": "ensemble"},
    {"name": "ensemble", "examples": "parts"},
)


@dataclass(frozen=True)
class Outcome:
    accuracy: float
    loss: float
    seconds: float  # from the first step to the last evaluation
    bytes_a_step: float  # sent by worker 0, as the kernel counted


def train(
    folder: Path, data: Path, task: Task, strategy: Mapping[str, Any], *, n_workers: int, is_slow: bool
) -> Outcome:
    """Raises RuntimeError when the gang does not end well."""
    folder.mkdir()
    with zipfile.ZipFile(folder / "code.zip", "w") as archive:
        archive.writestr("compared_model.py", task.code(n_workers=N_WORKERS, slow_s=SLOW_S))
    hyperparameters = {"optimizer": "sgd", "learning_rate": task.learning_rate, "momentum": 0.0}
    gang = Gang(
        folder,
        data,
        format=task.format,
        options=dict(task.options),
        model=ModelSpec(kind="package", entry="compared_model", package="code"),
        package=folder / "code.zip",
        training=TrainingSpec(task.epochs, task.batch_size, hyperparameters=hyperparameters, strategy=dict(strategy)),
    )
    spec = parse(strategy)
    mode = spec.mode or Mode.ALL_REDUCE
    n_servers = int(spec.parameters.get("leaves", 0)) + 1 if mode is Mode.PARAMETER_SERVER else 0
    os.environ["SLOW"] = "1" if is_slow else ""
    gang.start(mode, n_workers=n_workers, n_servers=n_servers)
    if any(gang.wait(seconds=300).values()):
        raise RuntimeError(gang.said())
    phases = {report["phase"]: report["at"] for report in gang.reports("phase")}
    metrics = gang.result()["metrics"]
    seconds = phases["done"] - phases["training"]
    return Outcome(metrics["eval/accuracy"], metrics["eval/loss"], seconds, gang.bytes_sent())


def measure(folder: Path) -> Iterator[dict[str, dict[str, Outcome]]]:
    """By scheme: "digits", "prose" and "digits slow"; what there is after each of them."""
    data = {name: task.write(folder) for name, task in TASKS.items()}
    found: dict[str, dict[str, Outcome]] = {named(strategy): {} for strategy in ({}, *STRATEGIES)}
    for key in ("digits", "prose", "digits slow"):
        task, is_slow = key.split()[0], key.endswith("slow")
        for index, strategy in enumerate(STRATEGIES if is_slow else ({}, *STRATEGIES)):
            found[named(strategy)][key] = train(
                folder / f"{index}-{key}",
                data[task],
                TASKS[task],
                strategy,
                n_workers=N_WORKERS if strategy else 1,
                is_slow=is_slow,
            )
            print(key, row(named(strategy), found[named(strategy)]), flush=True)
        yield found


def named(strategy: Mapping[str, Any]) -> str:
    return ", ".join(str(v) if k == "name" else f"{k} {v}" for k, v in strategy.items()) or "one process"


def row(name: str, found: Mapping[str, Outcome]) -> str:
    cells = []
    for key in ("digits", "digits slow", "prose"):
        each = found.get(key)
        cells += [f"{each.accuracy:.3f}", f"{each.loss:.3f}", f"{each.seconds:.1f}"] if each else ["", "", ""]
        if key == "prose":
            cells.append(f"{each.bytes_a_step / 1024:.1f}" if each else "")
    return f"| {name} | {' | '.join(cells)} |"


def draw(found: Mapping[str, Mapping[str, Outcome]], path: Path) -> None:
    """Accuracy on both sets, a line a scheme; what one process reaches as a line down."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = list(found)[::-1]
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 0.22 * len(names) + 1.2), sharey=True, layout="constrained")
    for axis, keys in zip(axes, (("digits", "digits slow"), ("prose",)), strict=True):
        for key, mark in zip(keys, ("o", "x"), strict=False):
            there = [name for name in names if key in found[name]]
            label = "one worker slow" if key.endswith("slow") else "all alike"
            axis.plot([found[n][key].accuracy for n in there], there, mark, markersize=5, label=label)
        if keys[0] in found["one process"]:
            axis.axvline(found["one process"][keys[0]].accuracy, color="grey", linewidth=0.8)
        axis.set_xlabel(f"{keys[0]}: accuracy on held-out examples")
        axis.grid(axis="y", linewidth=0.3)
    axes[0].legend()
    figure.savefig(path, dpi=90)


def main() -> None:
    missing = set(SCHEMES) - {s["name"] for s in STRATEGIES} - NOT_COMPARED
    assert not missing, f"not compared: {', '.join(missing)}"
    with tempfile.TemporaryDirectory() as folder:
        for found in measure(Path(folder)):
            write(found)


def write(found: Mapping[str, Mapping[str, Outcome]]) -> None:
    draw(found, RESULTS.with_suffix(".png"))
    table = "\n".join(row(name, each) for name, each in found.items())
    digits, prose = TASKS["digits"], TASKS["prose"]
    RESULTS.write_text(f"""# How well every scheme learns

`make bench-convergence`, {datetime.now(UTC):%Y-%m-%d}: {N_WORKERS} workers on {os.cpu_count()} shared CPUs, plain SGD
with one rate for all, every scheme the same number of examples (an ensemble's members each: with `examples` all).

- **digits**: {digits.about}; {digits.epochs} epochs, batch {digits.batch_size}, rate {digits.learning_rate}. In the
  second columns one worker is {1e3 * SLOW_S:.0f} ms slower at every batch.
- **prose**: {prose.about};
  {prose.epochs} epochs, batch {prose.batch_size}, rate {prose.learning_rate}. Schemes that are one process's training
  in another form (all_reduce, bsp, sharded, pipeline, tensor) differ here: at this rate the training is not stable.

Nothing was tuned for a scheme; times hold evaluations, and vary with the machine's load. On networks this small no
scheme is faster than one process: what is to be seen is what it learns, what a slow worker costs, and what is sent: KiB
a step by worker 0, as the kernel counted, evaluations and meetings included. Empty cells: the run was ended before.

![Accuracy by scheme](convergence.png)

| scheme | digits: accuracy | loss | s | one slow: accuracy | loss | s | prose: accuracy | loss | s | KiB a step |
|---|---|---|---|---|---|---|---|---|---|---|
{table}
""")


if __name__ == "__main__":
    main()
