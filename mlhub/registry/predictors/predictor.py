# SPDX-License-Identifier: Apache-2.0
"""One trained model, loaded in the sandbox: without network, with bounded memory and time."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.conf import settings

from mlhub.core.errors import ConflictError, DomainError, InvalidInputError
from mlhub.registry.export.archive import check_exportable
from mlhub.registry.export.description import model_description, preprocessing
from mlhub.registry.export.source_code import builtin_source
from mlhub.registry.models import Kind, ModelVersion
from mlhub.registry.predictors.dialogue import DialogueError, SandboxedProgram
from mlhub.runtime.sandbox.verdicts import SandboxLimits
from mlhub.storage.inspection import storable
from mlhub.storage.models import Blob
from mlhub.storage.stores import blob_store

PROGRAM = ("-m", "mlhub.runtime.prediction.trial")
START_S, PREDICT_S, LIFE_S = 120.0, 30.0, 3600.0
MAX_WEIGHTS_BYTES = 2**30
MEMORY_BYTES, SCRATCH_BYTES = 2 * 2**30, 2**30  # memory in addition to three times the weights
LATE = "Send fewer rows at once, or start a prediction job."


StartProgram = Callable[[Callable[[], SandboxedProgram]], SandboxedProgram]


class Predictor:
    """A started program; use it from one thread at a time. Raises DomainErrors that people can act on, OSError."""

    def __init__(self, version: ModelVersion, *, start: StartProgram = lambda program: program()) -> None:
        """start: makes the program in a thread that lives as long as the predictor; all else is done in this one."""
        self._held = ExitStack()
        try:
            self._program = self._start(version, start)
            self._held.callback(self._program.close)
            self._checked(lambda: self._program.received(timeout_s=START_S))
        except BaseException:
            self._held.close()
            raise

    @property
    def is_running(self) -> bool:
        return self._program.is_running

    def predict(self, rows: Sequence[Any]) -> list[Any]:
        """A prediction for each row. Raises InvalidInputError naming the column that is wrong."""
        answer = self._checked(lambda: self._program.ask({"rows": list(rows)}, timeout_s=PREDICT_S))
        found = answer.get("predictions")
        if not isinstance(found, list) or len(found) != len(rows):
            raise InvalidInputError("The model gave another number of predictions than rows.", code="no_answer")
        return found

    def close(self) -> None:
        self._held.close()

    def _start(self, version: ModelVersion, start: StartProgram) -> SandboxedProgram:
        (weights, trained_on), code = check_exportable(version), version.code_version or version
        if weights.size_bytes > MAX_WEIGHTS_BYTES:
            raise ConflictError(
                f"The weights have {weights.size_bytes:,} bytes; to be tried out they may have {MAX_WEIGHTS_BYTES:,}.",
                code="too_large_to_try",
                remedy="Start a prediction job, or export the model.",
            )
        settings.SANDBOX_ROOT.mkdir(parents=True, exist_ok=True)
        folder = Path(self._held.enter_context(tempfile.TemporaryDirectory(dir=settings.SANDBOX_ROOT)))
        _write(folder / "model.json", json.dumps(model_description(version)))
        _write(folder / "preprocessing.json", json.dumps(preprocessing(trained_on.format, trained_on.schema)))
        if code.kind == Kind.BUILTIN:
            _write(folder / "code" / f"{code.entry}.py", builtin_source(code.entry))
        folder.chmod(0o755)  # read by the user of the sandbox
        readable, argv = [folder], [*PROGRAM, "--folder", str(folder)]
        layer = code.environment.layer if code.environment is not None else None
        for option, blob in (("--weights", weights), ("--package", code.package), ("--environment", layer)):
            if blob is not None:
                readable.append(self._path(blob))
                argv += [option, str(readable[-1])]
        memory_bytes = MEMORY_BYTES + 3 * weights.size_bytes
        limits = SandboxLimits(LIFE_S, memory_bytes, SCRATCH_BYTES, n_processes=64, n_cpus=1.0)
        return start(lambda: SandboxedProgram(argv, folder=settings.SANDBOX_ROOT, limits=limits, readable=readable))

    def _path(self, blob: Blob) -> Path:
        return self._held.enter_context(blob_store().local_file(blob.sha256))

    def _checked(self, ask: Any) -> dict[str, Any]:
        """The answer, which code of users may have written. Raises InvalidInputError."""
        try:
            answer = storable(ask())
        except DialogueError as error:
            raise _failed(error) from error
        except ValueError as error:
            raise InvalidInputError("The model's answer cannot be read.", code="no_answer", remedy=LATE) from error
        if isinstance(answer, dict) and answer.get("ok") is True:
            return answer
        problem = answer.get("error") if isinstance(answer, dict) else None
        known = {key: str(value)[:2000] for key, value in (problem if isinstance(problem, dict) else {}).items()}
        raise InvalidInputError(
            known.get("message") or "The model gave no answer.",
            code=known.get("code") or "no_answer",
            field=known.get("field") or None,
            remedy=known.get("remedy", ""),
        )


def _failed(error: DialogueError) -> DomainError:
    last = error.printed.rpartition("\n")[2].strip()
    words = {"too_slow": "The model took too long.", "ended": "The model's process ended"}
    message = words.get(error.code, error.message)
    if error.code == "ended":
        message += f": {last[:500]}" if last else ", by the limits of its memory or for another reason."
    return InvalidInputError(message, code=f"predictor_{error.code}", remedy=LATE)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.parent.chmod(0o755)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o644)
