# SPDX-License-Identifier: Apache-2.0
"""benchmarks/results/convergence.md from the cells' figures: tables, and what they show."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median, stdev
from typing import Any

from benchmarks.convergence_cells import (
    LATE,
    N_WORKERS,
    ONE_PROCESS,
    SAME_STEPS,
    SEEDS,
    STRATEGIES,
    WITH_STRAGGLERS,
    CellOutcome,
    ConvergenceCell,
    named,
    rate_cells,
)
from benchmarks.convergence_sets import STRAGGLERS, TASKS, described

Found = Callable[[ConvergenceCell], CellOutcome | None]


class Page:
    """found: a cell's figures, None where it has not been run, or failed. rates: by task."""

    def __init__(self, found: Found, rates: Mapping[str, float]) -> None:
        self._found, self.rates = found, rates

    def one(self, task: str, strategy: Mapping[str, Any], kind: str = "even", seed: int = 0) -> CellOutcome | None:
        return self._found(ConvergenceCell(task, strategy, self.rates[task], kind, seed))

    def seeds(self, task: str, strategy: Mapping[str, Any], kind: str) -> list[CellOutcome]:
        """Of all seeds that were run and did not diverge."""
        every = (self.one(task, strategy, kind, seed) for seed in SEEDS)
        return [each for each in every if each is not None and not each.has_diverged(task)]

    # Tables --------------------------------------------------------------------------------------------------------

    def strategies(self) -> str:
        lines = [
            "| strategy | digits: accuracy | loss | s | processor s | one slow: accuracy | s "
            "| prose: accuracy | loss | s | processor s | KiB a step |",
            "|---|---|---|---|---|---|---|---|---|---|---|---|",
        ]
        for strategy in (ONE_PROCESS, *STRATEGIES):
            digits, slow = self.one("digits", strategy), self.one("digits", strategy, "slow") if strategy else None
            prose = self.one("prose", strategy)
            row = [*_cells("digits", digits, "lsp"), *_cells("digits", slow, "s"), *_cells("prose", prose, "lspb")]
            lines.append(f"| {named(strategy)} | {' | '.join(row)} |")
        return "\n".join(lines)

    def stragglers(self, task: str) -> str:
        heads = " | ".join(f"{kind}: accuracy | loss | s" for kind in STRAGGLERS)
        lines = [f"| strategy | {heads} |", "|---" * (1 + 3 * len(STRAGGLERS)) + "|"]
        for strategy in WITH_STRAGGLERS:
            row: list[str] = []
            for kind in STRAGGLERS:
                runs = self.seeds(task, strategy, kind)
                first = self.one(task, strategy, kind)
                if not runs:
                    row += ["" if first is None else "diverged", "", ""]
                    continue
                row += [f"{fmean(r.accuracy for r in runs):.3f}", _with_spread([r.loss for r in runs])]
                row.append(f"{fmean(r.seconds for r in runs):.1f}")
            lines.append(f"| {named(strategy)} | {' | '.join(row)} |")
        return "\n".join(lines)

    def loads(self, cells: Sequence[ConvergenceCell]) -> str:
        """How busy the machine was, as far as runs recorded it; seconds of a busy machine show little."""
        loads = [run.load for run in map(self._found, cells) if run is not None and run.load is not None]
        if not loads:
            return "no run recorded how busy the machine was"
        return f"the machine's load was {median(loads):.1f} at the median of {len(loads)} runs that recorded it"

    def rate_table(self) -> str:
        lines = ["| rate | " + " | ".join(f"{task}: loss after each epoch" for task in TASKS) + " |"]
        lines.append("|---" * (1 + len(TASKS)) + "|")
        for cells in zip(*(rate_cells(task) for task in TASKS), strict=True):
            row = []
            for cell in cells:
                outcome = self._found(cell)
                if outcome is None:
                    row.append("")
                    continue
                way = ", ".join(f"{loss:.3f}" for loss in outcome.losses)
                ending = " (not a number)" if outcome.diverged_at is not None else ""
                row.append(f"{way}{ending}")
            lines.append(f"| {cells[0].rate:g} | {' | '.join(row)} |")
        return "\n".join(lines)

    # What they show -------------------------------------------------------------------------------------------------

    def findings(self) -> list[str]:
        """Sentences, each computed; only those whose figures are there."""
        found = [*self._same_steps(), *self._best_and_worst(), *self._diverged(), *self._waiting(), *self._staleness()]
        return [*found, *self._bytes()]

    def _same_steps(self) -> list[str]:
        out = []
        for task in TASKS:
            alone = self.one(task, ONE_PROCESS)
            runs = {named(s): self.one(task, s) for s in STRATEGIES if named(s) in SAME_STEPS}
            there = {name: run for name, run in runs.items() if run is not None}
            if alone is None or len(there) < 2:
                continue
            name, run = max(there.items(), key=lambda item: _difference(item[1].loss, alone.loss))
            out.append(
                f"{task}: {len(there)} strategies make one process's steps in another form ({'; '.join(there)}). Their "
                f"losses differ from its {alone.loss:.4f} by at most {abs(run.loss - alone.loss):.4f} ({name})."
            )
        return out

    def _others(self, task: str) -> dict[str, CellOutcome]:
        runs = {named(s): self.one(task, s) for s in STRATEGIES if named(s) not in SAME_STEPS}
        return {name: r for name, r in runs.items() if r is not None and not r.has_diverged(task)}

    def _best_and_worst(self) -> list[str]:
        out = []
        for task in TASKS:
            alone, others = self.one(task, ONE_PROCESS), self._others(task)
            if alone is None or len(others) < 2:
                continue
            ranked = sorted(others, key=lambda name: others[name].loss)
            better = sum(run.loss < alone.loss for run in others.values())
            shown = [f"{name} {others[name].loss:.3f}" for name in ranked]
            out.append(
                f"{task}: of the {len(others)} other strategies {better} end with a lower loss than one process "
                f"({alone.loss:.3f}). Lowest: {'; '.join(shown[:3])}. Highest: {'; '.join(shown[:-4:-1])}."
            )
        return out

    def _diverged(self) -> list[str]:
        out = []
        for task in TASKS:
            runs = [(named(s), self.one(task, s)) for s in STRATEGIES]
            lost = [name for name, run in runs if run is not None and run.has_diverged(task)]
            n = sum(run is not None for _, run in runs)
            if n:
                out.append(f"{task}: {len(lost)} of {n} diverged{': ' + '; '.join(lost) if lost else ''}.")
        return out

    def _waiting(self) -> list[str]:
        out = []
        for task in TASKS:
            for kind in [k for k in STRAGGLERS if k != "even"]:
                times = {}
                for strategy in WITH_STRAGGLERS:
                    pair = [self.seeds(task, strategy, k) for k in (kind, "even")]
                    if all(pair):
                        times[named(strategy)] = [fmean(run.seconds for run in runs) for runs in pair]
                if "bsp" not in times:
                    continue
                ranked = sorted(times, key=lambda name: times[name][0])
                shown = "; ".join(f"{name} {times[name][0]:.1f} s (even {times[name][1]:.1f})" for name in ranked)
                faster = sum(times[name][0] < times["bsp"][0] for name in times)
                out.append(
                    f"{task}, {described(kind)}: {faster} of {len(times) - 1} strategies end before bsp. "
                    f"From the fastest on: {shown}."
                )
        return out

    def _staleness(self) -> list[str]:
        """Whether weighing stale gradients less, or waiting, ends better than asp by more than seeds differ."""
        out = []
        for kind in STRAGGLERS:
            plain = [run.loss for run in self.seeds("digits", {"name": "asp"}, kind)]
            if len(plain) < 2:
                continue
            verdicts = []
            for strategy in WITH_STRAGGLERS:
                losses = [run.loss for run in self.seeds("digits", strategy, kind)]
                if named(strategy) == "asp" or len(losses) < 2:
                    continue
                by, spread = fmean(losses) - fmean(plain), math.hypot(stdev(plain), stdev(losses))
                word = "alike" if abs(by) <= spread else "lower" if by < 0 else "higher"
                verdicts.append(f"{named(strategy)} {by:+.3f} ({word})")
            out.append(
                f"digits, {described(kind)}: loss against asp's {fmean(plain):.3f}, means of {len(plain)} seeds, alike "
                f"where they differ by no more than the seeds do: {'; '.join(verdicts)}."
            )
        return out

    def _bytes(self) -> list[str]:
        runs = {named(s): self.one("prose", s) for s in STRATEGIES}
        sent = {n: r.bytes_a_step / 1024 for n, r in runs.items() if r is not None and r.bytes_a_step > 0}
        if len(sent) < 4:
            return []
        ranked = sorted(sent, key=lambda name: sent[name])
        shown = [f"{name} {sent[name]:.0f}" for name in (*ranked[:3], ranked[-1])]
        return [f"prose: KiB a step that worker 0 sent, least and most: {'; '.join(shown)}."]


def _cells(task: str, outcome: CellOutcome | None, what: str) -> list[str]:
    """Accuracy, then by letter: l loss, s seconds, p processor seconds, b KiB a step."""
    if outcome is None:
        return [""] * (1 + len(what))
    if outcome.has_diverged(task):
        at = "" if outcome.diverged_at is None else f" (step {outcome.diverged_at})"
        return [f"diverged{at}", *[""] * len(what)]
    values = {
        "l": f"{outcome.loss:.3f}",
        "s": f"{outcome.seconds:.1f}",
        "p": f"{outcome.processor_s:.1f}",
        "b": f"{outcome.bytes_a_step / 1024:.1f}",
    }
    return [f"{outcome.accuracy:.3f}", *(values[letter] for letter in what)]


def _kinds() -> str:
    return "; ".join(f"{kind}: {described(kind)}" for kind in STRAGGLERS) + "."


def _with_spread(values: Sequence[float]) -> str:
    return f"{fmean(values):.3f} ± {stdev(values):.3f}" if len(values) > 1 else f"{values[0]:.3f}"


def _difference(loss: float, other: float) -> float:
    return abs(loss - other) if math.isfinite(loss) else math.inf


def text(page: Page, wanted: Sequence[ConvergenceCell], *, machine: str, failed: Sequence[str], n_open: int) -> str:
    digits, prose = TASKS["digits"], TASKS["prose"]
    findings = "\n".join(f"- {sentence}" for sentence in page.findings())
    notes = [f"Failed, and without figures: {'; '.join(failed)}."] if failed else []
    notes += [f"{n_open} runs are still to come; the same command goes on with them."] if n_open else []
    return f"""# How well every strategy learns

`make bench-convergence`, {machine}: {N_WORKERS} workers, plain SGD with one rate for all, every strategy the same
number of examples (an ensemble's members each: with `examples` all).{"".join(f" **{note}**" for note in notes)}

- **digits**: {digits.about}; {digits.epochs} epochs, batch {digits.batch_size}, rate {page.rates["digits"]:g}.
- **prose**: {prose.about};
  {prose.epochs} epochs, batch {prose.batch_size}, rate {page.rates["prose"]:g}.

The rate is {LATE:.2f} of the power of two at which one process ends with the lowest loss (last table): the part that
descent bears when gradients are {N_WORKERS - 1} versions late, as they are on average among {N_WORKERS} workers at
their own pace (sin(pi / (4 t + 2)) for t versions; Levin and May, 1976). Nothing was tuned for a strategy.
`diverged`: the loss was not a number, or no better than guessing. Seconds hold evaluations and meetings, and vary with
the machine's load ({page.loads(wanted)});
processor seconds are of all workers and servers together, with their starts. On networks this small no strategy is
faster than one process: what is to be seen is what it learns, what a slow worker costs, and what is sent: KiB a step by
worker 0, as the kernel counted, evaluations and meetings included.

## What the figures show

{findings}

![Loss by strategy, and with stragglers](convergence.png)

*Left and middle: held-out loss after the same number of examples, one process's as a grey line; strategies that
diverged have no mark. Right: the strategies of the second table, seconds to the end against held-out loss, means of
{len(SEEDS)} seeds; further to the left is faster, further down has learned more. {_kinds()}*

## Every strategy

"one slow": {described("slow")}.

{page.strategies()}

## With stragglers

{_kinds()}

Digits, means of {len(SEEDS)} seeds, and the losses' standard deviation:

{page.stragglers("digits")}

Prose, one seed:

{page.stragglers("prose")}

## What one process learns at other rates

{page.rate_table()}
"""
