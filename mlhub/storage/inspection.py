# SPDX-License-Identifier: Apache-2.0
"""What is inside an untrusted file: `python -m mlhub.runtime.inspection.inspect` answers, in the sandbox.

Whatever the file or its code does there (hangs, kills its process, answers nonsense), the caller gets a verdict that
can be stored. Only what is the platform's own fault, such as a full disk, is raised: then one tries again.
"""

from __future__ import annotations

import json
import math
import signal
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from mlhub.runtime.sandbox.verdicts import End, Ended
from mlhub.storage.models import WorkItem
from mlhub.storage.sandboxed_runner import sandboxed_runner
from mlhub.tenants.models import Project
from mlhub.wire.sandbox import Argument, SandboxTask

TIMEOUT_S = 300.0
MEMORY_BYTES = 6 * 2**30
SCRATCH_BYTES = 4 * 2**30
MAX_DEPTH = 50
MAX_STORED_CHARACTERS = 4 * 2**20
MAX_TRIES = 3  # of a verdict that the platform itself failed to give

LATE = "Send less at once, or make what runs while it is read or imported quicker."
LARGE = "Send a smaller file, or split it; trials have less memory than training."
NARROW = "Write less, or fewer and smaller files, while it is read or imported."
FEWER = "Start fewer processes and threads while it is read or imported."
FORBIDDEN = "Leave out what traces other processes, mounts, makes namespaces or changes the system."
ENDED = "Try it on your own machine with python -m mlhub.runtime.inspection.inspect, then upload it again."

WORDS = {
    End.MEMORY: ("out_of_memory", "Looking into it took more memory than there is for that.", LARGE),
    End.PROCESSOR_TIME: ("too_slow", "Looking into it took more processor time than there is for that.", LATE),
    End.DISK: ("out_of_disk", "Looking into it took more disk space than there is for that.", NARROW),
    End.PROCESSES: ("too_many_processes", "Looking into it took more processes than there are for that.", FEWER),
    End.SYSTEM_CALL: ("forbidden_call", "It made a system call that is forbidden here.", FORBIDDEN),
}


@dataclass(frozen=True)
class Verdict:
    """found: what the inspector reports of a sound file. error: {code, field, message, remedy, traceback?}, else None.

    Both can be stored in PostgreSQL as they are: finite numbers, no NUL, bounded size.
    """

    found: dict[str, Any] = field(default_factory=dict)
    error: dict[str, str] | None = None


def inspect(
    *arguments: Argument,
    project: Project,
    timeout_s: float = TIMEOUT_S,
    memory_bytes: int = MEMORY_BYTES,
    scratch_bytes: int = SCRATCH_BYTES,
) -> Verdict:
    """arguments: of mlhub.runtime.inspection.inspect; the files among them are all of the platform that it can read.

    project: whose work it is. Raises OSError when the sandbox itself cannot be set up.
    """
    refusal = refusal_of_weak_sandbox()
    if refusal is not None:
        return Verdict(error=refusal)
    task = SandboxTask(arguments, timeout_s, memory_bytes, scratch_bytes)
    ended = sandboxed_runner().run(task, project=project)
    if ended.end is not End.EXITED or ended.exit_code != 0:
        return _of_early_end(ended, timeout_s=timeout_s)
    if ended.is_cut and not ended.output:
        return _refused("answer_too_large", "There is more to store about this file than the limit allows.", LARGE)
    try:
        answer = storable(json.loads(ended.output))
    except (ValueError, RecursionError):
        return _refused("no_answer", "It ended the process that looked into it without an answer.", ENDED)
    return _of_answer(answer)


def refusal_of_weak_sandbox() -> dict[str, str] | None:
    """The error of work that this machine cannot isolate from other organisations' work; None when it may go on."""
    weakness = sandboxed_runner().weakness()
    if not weakness:
        return None
    return _error(
        "sandbox_too_weak",
        f"This machine cannot isolate the code of several organisations: {weakness}",
        "Ask an administrator to fix that, or to set MLHUB_ALLOW_WEAK_SANDBOX=1 where all of them trust each other.",
    )


def given_up(subject_id: UUID) -> dict[str, str]:
    """The error of a version that MAX_TRIES inspections could not bring to an end, with the last one's reason."""
    item = WorkItem.objects.filter(subject_id=subject_id).exclude(problem="").order_by("-id").first()
    reason = f" The last one: {item.problem[:1000]}" if item is not None else ""
    return _error(
        "inspection_failed",
        f"MLHub could not look into this file: {MAX_TRIES} tries broke off.{reason}",
        "Upload it again; if that does not help, ask an administrator to read the worker's log.",
    )


def _of_answer(answer: Any) -> Verdict:
    """Trusts nothing: code that is being looked into can write an answer of its own."""
    if isinstance(answer, dict) and answer.get("ok") is True:
        found = {key: value for key, value in answer.items() if key != "ok"}
        if len(json.dumps(found)) > MAX_STORED_CHARACTERS:
            return _refused("answer_too_large", "There is more to store about this file than the limit allows.", LARGE)
        return Verdict(found=found)
    error = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return _refused("no_answer", "What came out of looking into it was no answer.", ENDED)
    known = {"code": "invalid_file", "field": "file", "remedy": ENDED}
    limits = {"code": 50, "field": 200, "message": 2_000, "remedy": 2_000, "traceback": 16_000}
    shown = {key: error[key][-most:] for key, most in limits.items() if isinstance(error.get(key), str)}
    return Verdict(error={**known, **shown})


def _of_early_end(ended: Ended, *, timeout_s: float) -> Verdict:
    """What is proven of the end; of the rest only its exit status or signal, with what the interpreter printed."""
    tail = storable(ended.errors[-4_000:])
    if ended.end is End.TIME:
        return _refused("too_slow", f"Looking into it took longer than {timeout_s:,.0f} seconds.", LATE)
    if ended.end in WORDS:
        code, message, remedy = WORDS[ended.end]
        return _refused(code, f"{message} {storable(ended.proof)}".strip(), remedy, traceback=tail)
    how = f"signal {-ended.exit_code}" if ended.exit_code < 0 else f"exit status {ended.exit_code}"
    if ended.exit_code < 0 and -ended.exit_code in set(signal.Signals):
        how = signal.Signals(-ended.exit_code).name
    return _refused("ended_early", f"The process that looked into it ended by {how}.", ENDED, traceback=tail)


def storable(value: Any, *, depth: int = 0) -> Any:
    """JSON that PostgreSQL takes: no NUL, no lone surrogates, no NaN. Raises ValueError when nested too deep."""
    if depth > MAX_DEPTH:
        raise ValueError("nested too deep")
    if isinstance(value, str):
        return value.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [storable(item, depth=depth + 1) for item in value]
    if isinstance(value, dict):
        return {storable(key): storable(item, depth=depth + 1) for key, item in value.items()}
    return value


def _refused(code: str, message: str, remedy: str, **more: str) -> Verdict:
    return Verdict(error={**_error(code, message, remedy), **more})


def _error(code: str, message: str, remedy: str) -> dict[str, str]:
    return {"code": code, "field": "file", "message": message, "remedy": remedy}
