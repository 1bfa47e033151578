# SPDX-License-Identifier: Apache-2.0
"""Where the command line keeps the address of the platform and the API token: a file that only its owner may read."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from mlhub.cli.failures import CommandError, CommandStatus

URL, TOKEN = "MLHUB_URL", "MLHUB_TOKEN"
DEFAULT_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class Credentials:
    """url: of the platform, without /api/v1. token: an API token, "" when there is none."""

    url: str
    token: str


def credentials_file() -> Path:
    """$XDG_CONFIG_HOME/mlhub/credentials.json."""
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "mlhub" / "credentials.json"


def find(url: str | None, token: str | None) -> Credentials:
    """Options and environment variables (None when absent) come before what `mlhub login` kept.

    The kept token is used only for the address for which it was made. Raises CommandError for a damaged file.
    """
    kept = _kept()
    address = (url or (kept.url if kept else DEFAULT_URL)).rstrip("/")
    found = token or (kept.token if kept and kept.url == address else "")
    return Credentials(address, found)


def keep(credentials: Credentials) -> Path:
    """Writes the file, mode 0600, in one piece."""
    path = credentials_file()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = path.with_suffix(".part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(asdict(credentials), file)
    part.replace(path)
    return path


def forget() -> bool:
    """Removes the file. False when there was none."""
    path = credentials_file()
    existed = path.exists()
    path.unlink(missing_ok=True)
    return existed


def _kept() -> Credentials | None:
    try:
        return Credentials(**json.loads(credentials_file().read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise CommandError(
            f"{credentials_file()} cannot be read: {error}.",
            remedy="Run `mlhub login` again; it writes the file anew.",
            code=CommandStatus.NOT_SIGNED_IN,
        ) from error
