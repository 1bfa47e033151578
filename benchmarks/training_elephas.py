# SPDX-License-Identifier: Apache-2.0
"""Asynchronous training compared with Elephas, the library on Spark: same model, same data, an update every batch.

What a longer fit takes more than a shorter one, on the clock and in processor time: starts and ends do not count.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.training_gangs import ALONE, BATCH_SIZE, PEERS, WIDTHS, trained, write_examples
from mlhub.wire.launch import SyncMode

N_EXAMPLES = 8000
SIZE = "1 M"
EVERY_S = 0.1
_TICKS_A_S = os.sysconf("SC_CLK_TCK")
_SESSION, _TIMES = 3, slice(11, 15)  # fields of /proc/PID/stat after the name: session; utime, stime, and of children


@dataclass(frozen=True)
class ElephasFit:
    n_examples: int
    wall_s: float
    processor_s: float  # of all processes that had to do with it


def elephas_row(python: str, folder: Path, *, epochs: tuple[int, int] = (2, 12)) -> str:
    """A row of training_whole.HEADS. python: an interpreter with elephas. epochs: of the shorter and the longer fit."""
    data = write_examples(folder / "elephas.npz", N_EXAMPLES)
    theirs = rates([_theirs(python, data, n) for n in epochs])
    ours = rates([_ours(folder / f"asp-{n}", data, n) for n in epochs])
    return (
        f"| asynchronous, {SIZE} parameters, 2 workers, an update every {BATCH_SIZE} examples "
        f"| {ours[0]:.0f} examples/s | Elephas 7.3, asynchronous, batch, http | {theirs[0]:.0f} "
        f"| {ours[0] / theirs[0]:.1f} | | {theirs[1] / ours[1]:.3f} |"
    )


def rates(fits: list[ElephasFit]) -> tuple[float, float]:
    """Examples a second, and a processor second, of a longer fit's surplus over a shorter. fits: shorter, longer."""
    short, long = fits
    n = long.n_examples - short.n_examples
    return n / (long.wall_s - short.wall_s), n / (long.processor_s - short.processor_s)


def _theirs(python: str, data: Path, epochs: int) -> ElephasFit:
    command = [python, str(PEERS / "keras_on_spark.py"), str(data), str(WIDTHS[SIZE]), str(BATCH_SIZE), str(epochs)]
    with tempfile.TemporaryDirectory() as folder:  # where no folder has the name of a package
        output = Path(folder) / "output.log"
        with output.open("w") as file:
            process = subprocess.Popen(
                command, env=ALONE, cwd=folder, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
            )
            with Watch(lambda _, session: session == process.pid) as watch:
                status = process.wait(900)
        printed = output.read_text(errors="replace")
    if status:
        raise RuntimeError(printed[-2000:])
    words = printed.split("fit_s")[1].split()
    return ElephasFit(int(words[2]) * epochs, float(words[0]), watch.processor_s)


def _ours(folder: Path, data: Path, epochs: int) -> ElephasFit:
    """One server; the clock runs from the start of training to its last evaluation."""
    before = {int(name) for name in os.listdir("/proc") if name.isdecimal()}
    with Watch(lambda pid, _: pid not in before and _is_trainer(pid, folder)) as watch:
        gang = trained(
            folder, data, SIZE, {"name": "elephas-asynchronous"}, SyncMode.PARAMETER_SERVER, n_workers=2, n_servers=1,
            epochs=epochs,
        )  # fmt: skip
    began = next(r["at"] for r in gang.reports("phase") if r["phase"] == "training")
    ended = max(r["at"] for r in gang.reports("metrics") if "eval/accuracy" in r["values"])
    return ElephasFit(gang.result()["steps"] * BATCH_SIZE, ended - began, watch.processor_s)


def _is_trainer(pid: int, folder: Path) -> bool:
    """A pod's process works in the pod's own folder."""
    try:
        return Path(os.readlink(f"/proc/{pid}/cwd")).is_relative_to(folder.resolve())
    except OSError:
        return False


class Watch:
    """Processor seconds of the processes that is_ours(pid, session) names, looked at every EVERY_S while it lasts."""

    def __init__(self, is_ours: Callable[[int, int], bool]) -> None:
        self._is_ours = is_ours
        self._seen: dict[int, float] = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look_on, daemon=True)

    @property
    def processor_s(self) -> float:
        return sum(self._seen.values())

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _look_on(self) -> None:
        while not self._is_over.is_set():
            for name in os.listdir("/proc"):
                if name.isdecimal():
                    with suppress(OSError, ValueError):
                        self._look(int(name))
            time.sleep(EVERY_S)

    def _look(self, pid: int) -> None:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        if pid in self._seen or self._is_ours(pid, int(fields[_SESSION])):
            own, kernel, *_ = (int(ticks) / _TICKS_A_S for ticks in fields[_TIMES])
            self._seen[pid] = own + kernel


if __name__ == "__main__":
    import sys

    with tempfile.TemporaryDirectory() as name:
        print(elephas_row(sys.argv[1], Path(name)))
