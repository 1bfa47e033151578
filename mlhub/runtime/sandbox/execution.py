"""The door of the sandbox: runs a Python program of strangers and returns how it ended."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from mlhub.runtime.sandbox import cgroups, syscall_filter
from mlhub.runtime.sandbox.confinement import Confinement
from mlhub.runtime.sandbox.isolation import Isolation, isolation
from mlhub.runtime.sandbox.supervision import Outcome
from mlhub.runtime.sandbox.verdicts import Ended, Limits, ended

PROJECT = Path(__file__).resolve().parents[3]
INIT = Path(__file__).with_name("init.py")
MAX_OUTPUT_BYTES = 16 * 2**20
SLACK_S = 20.0  # for init to do what it is there for, before it is ended itself
COPIED_UP_TO_BYTES = 64 * 2**20


def execute(
    argv: Sequence[str],
    *,
    folder: Path,
    limits: Limits,
    readable: Sequence[Path] = (),
    within: Isolation | None = None,
) -> Ended:
    """Runs `python argv...` in a sandbox, whose files lie in a folder below `folder` that is gone afterwards.

    readable: files that it may read under their own paths. within: what to isolate; all that this machine can, else.
    Raises OSError when the sandbox cannot be set up.
    """
    chosen = within or isolation()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as name:
        run_folder = Path(name)
        confinement = _confinement(argv, run_folder, limits, readable, chosen)
        with cgroups.group(
            memory_bytes=limits.memory_bytes + limits.scratch_bytes,
            n_processes=limits.n_processes,
            n_cpus=limits.n_cpus,
        ) as group:
            report, output, errors = _run(confinement, group, timeout_s=limits.timeout_s)
            events = cgroups.Events() if group is None else group.events()
    return ended(
        _outcome(report, errors.text()),
        events,
        output=output.text(),
        errors=errors.text(),
        is_cut=output.is_cut or errors.is_cut,
        limits=limits,
    )


def python_folders() -> tuple[str, ...]:
    """What any Python program of the platform reads: interpreter, packages, the project's own code."""
    prefixes = {sys.prefix, sys.base_prefix, os.path.realpath(sys.base_prefix), str(PROJECT / "mlhub")}
    return tuple(sorted(prefixes - {"/usr", "/usr/local"}))


def _confinement(
    argv: Sequence[str], run_folder: Path, limits: Limits, readable: Sequence[Path], chosen: Isolation
) -> Confinement:
    inside, outside = run_folder / "inside", run_folder / "inputs"
    inside.mkdir(mode=0o700)
    scratch = "/tmp" if chosen.has_namespaces else str(inside)  # noqa: S108
    uid = chosen.uid()
    files = [_file(path, outside, is_other_user=uid is not None) for path in readable]
    return Confinement(
        argv=(sys.executable, *(_renamed(word, files) for word in argv)),
        environment=environment(scratch),
        folder=str(inside),
        readable=(*python_folders(), *(str(seen) for _, seen in files)),
        uid=uid,
        has_namespaces=chosen.has_namespaces,
        has_landlock=chosen.has_landlock,
        filter_hex=(
            syscall_filter.compiled(allows_sockets=chosen.has_namespaces).hex() if chosen.has_filter else ""
        ),
        timeout_s=limits.timeout_s,
        memory_bytes=limits.memory_bytes,
        scratch_bytes=limits.scratch_bytes,
        n_processes=limits.n_processes,
    )


def environment(scratch: str) -> dict[str, str]:
    """All that a program sees: nothing of the platform's own variables, so no database and no secrets."""
    return {
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": str(PROJECT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": scratch,
        "TMPDIR": scratch,
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
    }


def _file(path: Path, copies: Path, *, is_other_user: bool) -> tuple[str, Path]:
    """(path as the caller says it, the file that the program reads): a copy of what its own user could not read."""
    real = path.resolve()
    found = real.stat()
    if not is_other_user or found.st_mode & stat.S_IROTH or not stat.S_ISREG(found.st_mode):
        return str(path), real
    if found.st_size > COPIED_UP_TO_BYTES:
        raise PermissionError(f"{path} is not readable for other users. Make it so: chmod o+r.")
    copies.mkdir(exist_ok=True)
    copy = copies / real.name
    shutil.copyfile(real, copy)
    copy.chmod(0o444)
    return str(path), copy


def _renamed(word: str, files: Sequence[tuple[str, Path]]) -> str:
    for said, seen in files:
        word = word.replace(said, str(seen))
    return word


def _run(
    confinement: Confinement, group: cgroups.Group | None, *, timeout_s: float
) -> tuple[bytes, _Output, _Output]:
    report_from, report_to = os.pipe()
    with os.fdopen(report_from, "rb") as report, _started(confinement, report_to) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        output, errors = _Output(process.stdout), _Output(process.stderr, keeps_end=True)
        try:
            if group is not None:
                group.add(process.pid)
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(confinement.to_json().encode())
                process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout_s + SLACK_S)
        finally:
            process.kill()
            process.wait()
        for stream in (output, errors):
            stream.join()
        return report.read(), output, errors


@contextlib.contextmanager
def _started(confinement: Confinement, report_to: int) -> Iterator[subprocess.Popen[bytes]]:
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(INIT), str(report_to)],
            cwd="/",
            env={"LANG": "C.UTF-8"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(report_to,),
            start_new_session=True,
        )
    finally:
        os.close(report_to)
    yield process


def _outcome(report: bytes, errors: str) -> Outcome:
    """Raises OSError when init reports that it could not set the sandbox up, or nothing at all."""
    reports = [json.loads(line) for line in report.splitlines()]
    problem = next((r["error"] for r in reports if "error" in r), None)
    if problem is not None:
        raise OSError(f"The sandbox could not be set up: {problem}")
    if not reports:
        said = errors.strip().rpartition("\n")[2]
        raise OSError(f"The sandbox ended without a report: {said or 'its first process was killed'}")
    return Outcome(**reports[0]["outcome"])


class _Output:
    """Reads a stream to its end in a thread of its own and keeps MAX_OUTPUT_BYTES of it: the first, or the last."""

    def __init__(self, stream: IO[bytes], *, keeps_end: bool = False) -> None:
        self.is_cut = False
        self._stream, self._keeps_end = stream, keeps_end
        self._kept = bytearray()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def join(self) -> None:
        self._thread.join(SLACK_S)

    def text(self) -> str:
        return bytes(self._kept).decode(errors="replace")

    def _read(self) -> None:
        with self._stream:
            while chunk := os.read(self._stream.fileno(), 2**16):
                self._keep(chunk)

    def _keep(self, chunk: bytes) -> None:
        self._kept += chunk
        too_much = len(self._kept) - MAX_OUTPUT_BYTES
        if too_much > 0:
            self.is_cut = True
            if self._keeps_end:
                del self._kept[:too_much]
            else:
                del self._kept[MAX_OUTPUT_BYTES:]
