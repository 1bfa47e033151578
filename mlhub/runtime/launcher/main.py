# SPDX-License-Identifier: Apache-2.0
"""A pod's main process: reads the specification, brings inputs, trains, uploads, ships the rest, exits with a code."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from mlhub.runtime.data.node_cache import NodeCache
from mlhub.runtime.environments.layer import search_path, unpacked_layer
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.launcher.ingest_api import (
    FencedError,
    IngestApi,
    IngestUnavailableError,
    RefusedError,
    StorageQuotaError,
)
from mlhub.runtime.launcher.inputs import InputUnavailableError, bring_cached, brought_before
from mlhub.runtime.launcher.judgement import OomKillCounter, judge_end
from mlhub.runtime.launcher.script_result import EpochReports, result_of
from mlhub.runtime.launcher.shipping import Shipper
from mlhub.runtime.launcher.standby import TrainerProcess, start_trainer
from mlhub.runtime.launcher.tracking_files import END_S, Pickup, variables
from mlhub.runtime.launcher.watchdog import Watchdog
from mlhub.runtime.pod import Pod
from mlhub.runtime.profiling.courier import ProfileCourier
from mlhub.runtime.reporting import Reporter
from mlhub.runtime.scripts.outputs import OutputFile, listed_outputs
from mlhub.runtime.scripts.working_checkpoints import WorkingCheckpoints, files_of
from mlhub.runtime.usage.sampler import UsageSampler
from mlhub.wire import environment as names
from mlhub.wire.exits import Cause, ExitCode
from mlhub.wire.launch import NOTEBOOK, PodRole
from mlhub.wire.masking import SecretMask
from mlhub.wire.report import INPUTS_PHASE, MAX_INPUTS

# glibc's malloc asks for huge pages: else a gradient of 100 MB costs 24,000 page faults at every step
MEMORY = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
OOM_SAMPLE_S = 10.0
DRAIN_S = 600.0  # a trained model waits this long for an API that cannot be reached
DRAIN_AFTER_STOP_S = 6.0  # a backend that stops a pod also kills it when it lingers


class Launcher:
    def __init__(self, pod: Pod, *, oom_kills: OomKillCounter | None = None) -> None:
        self.pod = pod
        self._oom_kills = oom_kills or OomKillCounter()
        self.api = IngestApi(pod.api_url, pod.spec.attempt_id, pod.token, batch_decision=pod.batch_decision)
        self.reporter = Reporter(pod.reports)
        self._mask = SecretMask(pod.user_secrets.values())
        self.profiles = ProfileCourier(pod, self.reporter, upload=self.api.put_trace)
        if pod.may_record:
            self.api.on_profile = self.profiles.receive
        self.shipper = Shipper(
            self.api,
            role=pod.spec.role,
            index=pod.spec.index,
            reports=pod.reports,
            log=pod.output,
            on_final=self._leave_at_once,
            mask=self._mask,
            usage=pod.usage,
            n_pods=pod.spec.n_workers + pod.spec.n_servers,
        )
        self._usage = UsageSampler(pod.usage, traffic=pod.traffic)
        self.trainer: TrainerProcess | None = None
        # of the trainer, in addition to those of the pod
        self.variables: dict[str, str] = {**pod.spec.variables, **pod.user_secrets}
        self._cache = NodeCache(pod.cache)  # holds what the pod uses until it ends
        self.is_stopping = False

    def run(self) -> int:
        signal.signal(signal.SIGTERM, self._on_sigterm)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.reporter.phase("pod_started")
        self.shipper.start()
        try:
            inputs = self._bring_inputs()
            self.pod.write_inputs(inputs)
            self._use_environment(inputs)
        except (InputUnavailableError, BadInputError, OSError) as error:
            self.reporter.failure(Cause.INPUT_UNAVAILABLE, str(error))
            return self._end(ExitCode.INPUT_UNAVAILABLE)
        except FencedError:
            return ExitCode.REPORT_REFUSED
        self.reporter.phase("inputs_ready")
        if self.is_stopping:
            return self._end(ExitCode.PREEMPTED)
        code = self._train()
        if code == ExitCode.DONE:
            self._report_result()
            code = self._upload()
        return self._end(code)

    def _bring_inputs(self) -> Mapping[str, Path]:
        """Paths by name. Raises InputUnavailableError, FencedError, OSError."""
        folder = self.pod.work / "inputs"
        paths, brought = bring_cached(self.pod.spec.inputs, api=self.api, cache=self._cache, folder=folder)
        if names.SPEC_PATH in os.environ:
            brought += brought_before(Path(os.environ[names.SPEC_PATH]))
        listed = [one.to_dict() for one in brought]
        for first in range(0, len(listed), MAX_INPUTS):
            self.reporter.phase(INPUTS_PHASE, inputs=listed[first : first + MAX_INPUTS])
        return paths

    @property
    def _is_notebook(self) -> bool:
        return self.pod.spec.model.kind == NOTEBOOK

    def _use_environment(self, inputs: Mapping[str, Path]) -> None:
        """Lets the trainer import the packages that the code requires. Raises BadInputError, OSError."""
        item = next((i for i in self.pod.spec.inputs if i.name == self.pod.spec.model.environment), None)
        if item is not None:
            layer = unpacked_layer(inputs[item.name], self._cache, sha256=item.sha256)
            self.variables["PYTHONPATH"] = search_path(os.environ.get("PYTHONPATH", ""), layer)

    def _train(self) -> int:
        is_script = self.pod.spec.model.kind == "script"
        pickup = None
        if is_script and self.pod.is_reporter:
            pickup = self._pickup()
        with self.pod.output.open("ab") as output:
            self.trainer = start_trainer(
                ["-m", "mlhub.runtime.roles"],
                {**MEMORY, **os.environ, **(variables(self.pod.work) if is_script else {}), **self.variables},
                output.fileno(),
            )
        if pickup is not None:
            pickup.start()
        self._usage.start()
        watch = self._watch(is_script=is_script)
        if self.is_stopping:
            self.trainer.terminate()
        status = self._wait(self.trainer)
        self._usage.end()
        self.profiles.end(timeout_s=DRAIN_AFTER_STOP_S if self.is_stopping else END_S)
        if watch is not None:
            watch.end()
        if pickup is not None:
            pickup.end(timeout_s=DRAIN_AFTER_STOP_S if self.is_stopping else END_S)
        end = judge_end(
            status,
            is_asked_to_stop=self.is_stopping,
            was_oom_killed=self._oom_kills.has_grown(),
            is_complete=self._is_complete(),
        )
        if end.cause is not None and not self.shipper.is_refused:
            self.reporter.failure(end.cause, end.message)
        return end.exit_code

    def _is_complete(self) -> bool:
        """Whether a trainer that left with exit status 0 has done its work. Scripts, notebooks and servers end as they
        like."""
        spec = self.pod.spec
        ends_itself = spec.role is not PodRole.WORKER or spec.model.kind in ("script", NOTEBOOK)
        return ends_itself or self.pod.completed.exists()

    def _wait(self, trainer: TrainerProcess) -> int:
        """The trainer's exit status."""
        poll, process = select.poll(), os.pidfd_open(trainer.pid)
        try:
            poll.register(process, select.POLLIN)
            while not poll.poll(OOM_SAMPLE_S * 1000):
                self._oom_kills.sample()
        finally:
            os.close(process)
        return trainer.wait()

    def _watch(self, *, is_script: bool) -> Watchdog | None:
        """Servers wait for workers, and only the first rank of a script reports: the others have no watchdog.

        A notebook makes no steps: while its server works, it reports its activity every few seconds.
        """
        pod = self.pod
        if pod.spec.role is not PodRole.WORKER or (is_script and not pod.is_reporter):
            return None
        if self._is_notebook:
            watch = Watchdog(self.reporter, reports=pod.reports)
        elif is_script:
            watch = Watchdog(self.reporter, reports=pod.reports, output=pod.output)
        else:
            watch = Watchdog(self.reporter, heartbeat_file=pod.heartbeat)
        watch.start()
        return watch

    def _pickup(self) -> Pickup:
        pod, kept, package = self.pod, self.pod.checkpoints, self.pod.spec.model.package
        brought = files_of(pod.input(package), entry=pod.spec.model.entry) if package is not None else frozenset()
        working = WorkingCheckpoints(pod.code, kept, brought=brought)
        return Pickup(
            pod.work,
            self.reporter,
            folders=[kept],
            log=pod.output,
            checkpoints=kept,
            working=working,
            epochs=EpochReports(pod.work, pod.spec),
            mask=self._mask,
        )

    def _report_result(self) -> None:
        if self.pod.spec.model.kind == "script" and self.pod.is_reporter:
            result = result_of(self.pod.reports)
            if result is not None:
                self.reporter.send(result)

    def _upload(self) -> int:
        """Sends the trainer's artifacts, and what a script or a notebook left."""
        try:
            files = [*self._own_artifacts(), *listed_outputs(self.pod)]
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            # a trainer that ended well has written its lists whole: the job's code wrote there after it, or before
            self.reporter.failure(Cause.USER_CODE, f"The code changed the list of the pod's artifacts: {error}")
            return ExitCode.USER_CODE
        for file in files:
            code = self._put(file, until=time.monotonic() + DRAIN_S)
            if code is not ExitCode.DONE:
                return code
        return ExitCode.DONE

    def _own_artifacts(self) -> list[OutputFile]:
        """Raises ValueError, and what comes of a list that is none."""
        listed, folder = self.pod.artifacts / "artifacts.json", self.pod.artifacts
        own: Mapping[str, str] = json.loads(listed.read_text()) if listed.exists() else {}
        for name in own:
            if "/" in name or not (folder / name).is_file():
                raise ValueError(f"{name[:100]!r} is no file among them.")
        return [OutputFile(name, str(folder / name), sha256) for name, sha256 in own.items()]

    def _put(self, file: OutputFile, *, until: float) -> ExitCode:
        """Sends one file. until: on the clock of time.monotonic()."""
        while True:
            try:
                self.api.put_artifact(file.name, Path(file.path), sha256=file.sha256)
                return ExitCode.DONE
            except IngestUnavailableError as error:
                if time.monotonic() > until:
                    self.reporter.failure(Cause.REPORT_REFUSED, f"{file.name} could not be uploaded: {error}")
                    return ExitCode.REPORT_REFUSED
                time.sleep(max(1.0, error.retry_after_s))
            except StorageQuotaError as error:
                self.reporter.failure(Cause.STORAGE_QUOTA, f"{file.name}: {error}")
                return ExitCode.STORAGE_QUOTA
            except (FencedError, RefusedError, OSError) as error:
                if self._is_notebook and not isinstance(error, FencedError):  # a process that it left writes on
                    print(f"mlhub: {file.name} has changed or gone since it was listed, and is no artifact")
                    return ExitCode.DONE
                self.reporter.failure(Cause.REPORT_REFUSED, f"{file.name} could not be uploaded: {error}")
                return ExitCode.REPORT_REFUSED

    def _end(self, code: int) -> int:
        if not self.shipper.is_refused:
            arrived = self.shipper.drain(timeout_s=DRAIN_AFTER_STOP_S if self.is_stopping else DRAIN_S)
            if arrived or (code != ExitCode.DONE and not self.shipper.is_forged):
                return code
        return ExitCode.USER_CODE if self.shipper.is_forged else ExitCode.REPORT_REFUSED

    def _on_sigterm(self, *_: object) -> None:
        self.is_stopping = True
        if self.trainer is not None and self.trainer.poll() is None:
            self.trainer.terminate()

    def _leave_at_once(self, reason: str) -> None:
        print(f"launcher: leaving: {reason}", flush=True)
        if self.trainer is not None and self.trainer.poll() is None:
            self.trainer.kill()


def main() -> int:
    try:
        pod = Pod.from_environment()
    except ValueError as error:
        print(f"launcher: {error}", file=sys.stderr, flush=True)
        return ExitCode.BAD_SPEC
    os.chdir(pod.work)
    Path(pod.output).touch()
    return Launcher(pod).run()
