# SPDX-License-Identifier: Apache-2.0
"""How well the slowdown of jobs that share a GPU is predicted, for pairs, jobs and families that were left out.

    python -m benchmarks.interference --data FOLDER [--out benchmarks/results/interference.md]

FOLDER (or $MLHUB_TRACES) holds gavel/colocated_pairs_v100.csv: throughputs measured by the authors of Gavel
(Narayanan et al., OSDI '20; github.com/stanford-futuredata/gavel, MIT), as job_a, job_b, norm_a, norm_b.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np

from scheduler.models.interference.cross_validation import evaluate, held_out
from scheduler.models.interference.job_features import JobTraits, MeasuredPair
from scheduler.models.interference.model import Interference
from scheduler.models.interference.pairs_file import read_pairs

PAIRS = "gavel/colocated_pairs_v100.csv"
GROUPS = ("pair", "job", "family")
SHARES = (0.1, 0.2, 0.4, 0.6, 0.8)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("MLHUB_TRACES"), metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/interference.md"))
    arguments = parser.parse_args()
    path = Path(arguments.data or ".") / PAIRS
    if not path.is_file():
        print(f"{path} is not there; --data must name a folder with {PAIRS} (see --help)", file=sys.stderr)
        return 2
    found = read_pairs(path.read_text(encoding="utf-8"), name=str(path))
    lines = ["# How well interference is predicted", "", "By `python -m benchmarks.interference --data FOLDER`.", ""]
    lines += ["Measured pairs of jobs on one V100 (Gavel, OSDI '20). Read as follows:", ""]
    lines += [f"- {remark}" for remark in found.remarks()]
    lines += ["", *_by_group(found.pairs), "", *_by_share(found.pairs), "", *_synthetic()]
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    if _draw(found.pairs, arguments.out.with_suffix(".png")):
        lines += ["", f"![Predicted over measured]({arguments.out.with_suffix('.png').name})"]
    arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    return 0


def _by_group(pairs: tuple[MeasuredPair, ...]) -> list[str]:
    rows = [
        "| left out, 5 folds | R² | MAE | MAPE | bad-pair AUC | within 2 sd | rows |",
        "|---|---|---|---|---|---|---|",
    ]
    return rows + [f"| by {group} | {_figures(evaluate(pairs, group=group))} |" for group in GROUPS]


def _by_share(pairs: tuple[MeasuredPair, ...]) -> list[str]:
    """Learned from a part of the pairs, judged on all others: mean of three draws."""
    rows = ["| pairs measured | of all | MAE on the others | R² |", "|---|---|---|---|"]
    names = sorted({tuple(sorted((p.a.name, p.b.name))) for p in pairs})
    for share in SHARES:
        n, maes, r2s = round(share * len(names)), [], []
        for seed in range(3):
            chosen = {names[i] for i in np.random.default_rng(seed).permutation(len(names))[:n]}
            inside = [tuple(sorted((p.a.name, p.b.name))) in chosen for p in pairs]
            model = Interference([p for p, one in zip(pairs, inside, strict=True) if one])
            others = [p for p, one in zip(pairs, inside, strict=True) if not one]
            predicted = np.array([s[:2] for s in model.predict_all([(p.a, p.b) for p in others])])
            truth = np.array([(p.norm_a, p.norm_b) for p in others])
            maes.append(np.abs(predicted - truth).mean())
            r2s.append(1 - ((predicted - truth) ** 2).sum() / ((truth - truth.mean()) ** 2).sum())
        rows.append(f"| {n} | {share:.0%} | {np.mean(maes):.3f} | {np.mean(r2s):.2f} |")
    return rows


def _synthetic() -> list[str]:
    """Made-up sets with utilisation: a GPU that slows when two want more than there is, with 1 % of noise."""
    rows = [
        "Synthetic, with utilisation columns: contention beyond 100 % of the GPU or 90 % of its memory bandwidth.",
        "",
    ]
    rows += ["| set | R² | MAE | MAPE | bad-pair AUC | within 2 sd | rows |", "|---|---|---|---|---|---|---|"]
    for n_jobs, n_pairs in ((40, 300), (100, 250)):
        pairs = crowding(n_jobs=n_jobs, n_pairs=n_pairs, seed=n_jobs)
        for group in ("pair", "job"):
            rows.append(f"| {n_jobs} jobs, by {group} | {_figures(evaluate(pairs, group=group))} |")
    return rows


def crowding(*, n_jobs: int, n_pairs: int, seed: int) -> list[MeasuredPair]:
    random = np.random.default_rng(seed)
    gpu = random.uniform(10, 99, n_jobs)
    bandwidth = gpu * random.uniform(0.4, 0.9, n_jobs)
    memory_mib = random.uniform(1000, 16000, n_jobs)

    def job(i: int) -> JobTraits:
        return JobTraits(f"job-{i}", {"gpu": gpu[i], "bandwidth": bandwidth[i], "memory_mib": memory_mib[i]})

    def norm(i: int, j: int) -> float:
        busy = max(0.0, gpu[i] + gpu[j] - 100) / 100 * gpu[j] / 60
        crowded = max(0.0, bandwidth[i] + bandwidth[j] - 90) / 100 * bandwidth[i] / 50
        return float(np.clip(1 / (1 + 0.25 * busy + 0.35 * crowded) + random.normal(0, 0.01), 0.05, 1.02))

    drawn = [tuple(random.integers(n_jobs, size=2).tolist()) for _ in range(n_pairs)]
    return [MeasuredPair(job(i), job(j), norm(i, j), norm(j, i)) for i, j in drawn]


def _figures(figures: dict[str, float]) -> str:
    return (
        f"{figures['r2']:.3f} | {figures['mae']:.3f} | {figures['mape']:.1%} | {figures['auc_bad_pair']:.3f} "
        f"(sum < {figures['bad_below']:.3g}: {figures['n_bad_pairs']}) | {figures['within_2_sd']:.0%} | {figures['n']}"
    )


def _draw(pairs: tuple[MeasuredPair, ...], path: Path) -> bool:
    """Left-out predictions over measurements; False where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("agg")
    from matplotlib import pyplot

    truth = [norm for p in pairs for norm in (p.norm_a, p.norm_b)]
    figure, axes = pyplot.subplots(1, 3, figsize=(9, 3.2), sharex=True, sharey=True)
    for ax, group in zip(axes, GROUPS, strict=True):
        predicted = held_out(pairs, n_folds=5, group=group)[:, :2].ravel()
        ax.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        ax.plot(truth, predicted, ".", markersize=3, alpha=0.4)
        ax.set(title=f"left out by {group}", xlabel="measured", aspect="equal", xlim=(0, 1.02), ylim=(0, 1.02))
    axes[0].set_ylabel("predicted speed next to the other")
    figure.tight_layout()
    figure.savefig(path, dpi=90)
    return True


if __name__ == "__main__":
    sys.exit(main())
