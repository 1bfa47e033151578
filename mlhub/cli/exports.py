# SPDX-License-Identifier: Apache-2.0
"""Exported models on this machine: fetched, unpacked, and their own programs run where torch is installed."""

from __future__ import annotations

import base64
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mlhub.cli.failures import CommandError
from mlhub.cli.session import Session
from mlhub.wire.formats import AUDIO_SUFFIXES
from mlhub.wire.row_files import rows_in

EXPORT = "model.zip"
IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp")


def fetch(session: Session, path: str, into: Path) -> Path:
    """Downloads the export of a version and unpacks it; returns its folder. Raises CommandError, Refused."""
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into) as temporary:
        archive = Path(temporary) / EXPORT
        session.api.download(f"{path}/export", archive)
        try:
            with zipfile.ZipFile(archive) as opened:
                (top,) = {name.partition("/")[0] for name in opened.namelist()}
                if (into / top).exists():
                    raise CommandError(f"{into / top} is there already.", remedy="Remove it, or name another folder.")
                opened.extractall(into)
        except (zipfile.BadZipFile, ValueError) as error:
            raise CommandError(f"The export came incomplete: {error}.", remedy="Send the command again.") from error
    return into / top


def run_program(folder: Path, script: str, arguments: Sequence[str]) -> None:
    """Runs a script of the export with this Python; SIGTERM and SIGINT to this process end the script too.

    Raises CommandError when it fails, or torch is not there.
    """
    if find_spec("torch") is None:  # not imported, which takes seconds; the program does that
        raise CommandError(
            f"{script} needs torch, which this Python does not have.",
            remedy=f"Run: {sys.executable} -m pip install -r {folder / 'requirements.txt'}",
        )
    asked_to_end = []
    with subprocess.Popen([sys.executable, str(folder / script), *arguments]) as program:

        def pass_on(number: int, _: Any) -> None:
            asked_to_end.append(number)
            program.terminate()

        before = signal.signal(signal.SIGTERM, pass_on)
        try:
            status = program.wait()
        except KeyboardInterrupt:  # of a supervisor it reaches this process alone, of a terminal both
            program.terminate()
            program.wait()
            raise
        finally:
            signal.signal(signal.SIGTERM, before)
    if asked_to_end:
        raise SystemExit(128 + asked_to_end[0])
    if status < 0:
        ended_by = signal.Signals(-status).name
        remedy = "Start it again; SIGKILL without a person is most often for want of memory."
        raise CommandError(f"{script} was ended by {ended_by}.", remedy=remedy)
    if status:
        raise CommandError(f"{script} ended with the status {status}.", remedy="Its message is above.")


def rows_of(file: Path) -> list[Any]:
    """The rows of a small file as the API takes them. Raises CommandError."""
    suffix = file.suffix.lower()
    try:
        if suffix in IMAGES:
            return [{"image": base64.b64encode(file.read_bytes()).decode()}]
        if suffix in AUDIO_SUFFIXES:
            return [{"audio": base64.b64encode(file.read_bytes()).decode()}]
        rows = rows_in(file)
    except (OSError, ValueError) as error:
        raise CommandError(f"{file} cannot be read: {error}") from error
    if rows is None:
        raise CommandError(
            f"{file.name} is of no known kind.", remedy="Give .csv, .json, .jsonl, .parquet, .txt, an image, or audio."
        )
    if not rows:
        raise CommandError(f"{file.name} has no rows.", remedy="Give at least one.")
    return rows
