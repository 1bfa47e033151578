# SPDX-License-Identifier: Apache-2.0
"""A worker of a prediction job: it computes its parts, then missing ones of others; rank 0 publishes the result.

Workers do not communicate. They share the job's folder: a part that exists is not computed again, after the loss of a
worker, a preemption, or by another number of workers.
"""

from __future__ import annotations

import resource
import time

import numpy as np

from mlhub.runtime.data import readers
from mlhub.runtime.data.node_cache import NodeCache
from mlhub.runtime.data.shard_folders import dataset_data
from mlhub.runtime.errors import PreemptedError
from mlhub.runtime.heartbeat import Heartbeat
from mlhub.runtime.model.evaluation_metrics import means_of
from mlhub.runtime.model.whole_set_metrics import joined
from mlhub.runtime.pod import Pod
from mlhub.runtime.prediction.output_parts import OutputParts, part_order
from mlhub.runtime.prediction.prediction_job import PredictionJob, open_prediction_job
from mlhub.runtime.prediction.result import write_result
from mlhub.runtime.reporting import Reporter
from mlhub.runtime.scripts import api
from mlhub.wire.report import ProgressReport
from mlhub.wire.words import counted

PROGRESS_EVERY_S = 1.0
FOLDER = "parts"
N_EXAMPLES = "examples"
WHOLE = "whole."  # begins the names of a part's counts for metrics of the whole set


class PredictionWorker:
    """is_asked_to_stop is set by SIGTERM: the part at hand is finished, and the worker leaves."""

    def __init__(self, pod: Pod, reporter: Reporter) -> None:
        self.pod, self.reporter = pod, reporter
        self.is_asked_to_stop = False
        self._heartbeat = Heartbeat(pod.heartbeat)

    def run(self) -> None:
        """Raises PreemptedError, BadInputError, and whatever the model's code raises."""
        pod, rank = self.pod, self.pod.spec.index
        work = open_prediction_job(pod.spec, pod.input, code=pod.code, cache=NodeCache(pod.cache))
        work.answers.on_batch = lambda: self._heartbeat.record("compute")
        writer = f"{pod.spec.attempt_id}-{rank}"
        self._parts = OutputParts(pod.checkpoints / FOLDER, work.n_parts, writer=writer)
        self._n_reported, self._reported_at = len(self._parts.complete()), time.perf_counter()
        self.reporter.phase("prepared")
        self.reporter.phase("gang_ready")
        self.reporter.phase("training", step=self._n_reported)
        if pod.is_reporter:
            print(
                f"{work.asked.kind}: {counted(len(work.rows), 'example')} in {counted(work.n_parts, 'part')}, "
                f"{self._n_reported:,} of them done; {counted(pod.spec.n_workers, 'worker')}",
                flush=True,
            )
        for index in part_order(work.n_parts, rank=rank, n_workers=pod.spec.n_workers):
            if self.is_asked_to_stop:
                raise PreemptedError(f"Asked to leave before part {index}.")
            if not self._parts.has(index):
                self._heartbeat.record("compute", step=index)
                self._parts.write(index, self._compute(work, index))
            if time.perf_counter() - self._reported_at > PROGRESS_EVERY_S:
                self._report_progress(work)
        self._report_progress(work)
        if pod.is_reporter:
            self._publish_result(work)

    def _compute(self, work: PredictionJob, index: int) -> dict[str, np.ndarray]:
        rows, asked = work.part(index), work.asked
        if asked.kind == "evaluate":
            sums, whole = work.answers.sums(rows)
            found = {N_EXAMPLES: np.array(len(rows)), **{name: np.array(value) for name, value in sums.items()}}
            return found | {f"{WHOLE}{name}": counts for name, counts in whole.counts.items()}
        return work.answers.features(rows, asked.features) if asked.features else work.answers.predictions(rows)

    def _report_progress(self, work: PredictionJob) -> None:
        """Reports how many parts of all workers are done, if there are more than before."""
        done, now = len(self._parts.complete()), time.perf_counter()
        step_s = (now - self._reported_at) / max(1, done - self._n_reported)
        if done == self._n_reported:
            return
        self._n_reported, self._reported_at = done, now
        spec = self.pod.spec
        self.reporter.send(
            ProgressReport(
                at=time.time(),
                steps_done=done,
                steps_total=work.n_parts,
                epoch=done / work.n_parts,
                n_workers=spec.n_workers,
                n_servers=0,
                batch_size=work.batch_size,
                step_s=step_s,
                compute_s=step_s,
                sync_s=0.0,
                input_s=0.0,
                measured={"peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024},
            )
        )

    def _publish_result(self, work: PredictionJob) -> None:
        pod, asked = self.pod, work.asked
        pod.artifacts.mkdir(exist_ok=True)
        if asked.kind == "evaluate":
            metrics = _means(self._parts, work)
            print(", ".join(f"{name} {value:.4g}" for name, value in sorted(metrics.items())), flush=True)
        else:
            metrics = {}
            dataset = pod.spec.dataset
            assert dataset is not None
            write_result(
                pod.artifacts / f"predictions.{asked.output}",
                self._parts,
                work.rows,
                classes=work.answers.facts.get("classes"),
                names=readers.names_of(
                    dataset.format, dataset_data(dataset, pod.spec.inputs, pod.input, pod.work).path
                ),
            )
        api.hand_in(pod, self.reporter, step=work.n_parts, metrics=metrics)
        self.reporter.phase("done")


def _means(parts: OutputParts, work: PredictionJob) -> dict[str, float]:
    """The metrics of all parts. Parts that an older version wrote have no counts; then there are means only."""
    sums: dict[str, float] = {}
    counts: list[dict[str, np.ndarray]] = []
    for part in parts.read():
        counts.append({name.removeprefix(WHOLE): part.pop(name) for name in list(part) if name.startswith(WHOLE)})
        for name, value in part.items():
            sums[name] = sums.get(name, 0.0) + float(value)
    n = sums.pop(N_EXAMPLES)
    means = means_of(sums, n=n, facts=work.answers.facts)
    whole = joined(counts) if all(counts) else {}
    return means | (work.answers.whole_set_metrics(int(n)).values_of(whole) if whole else {})
