# SPDX-License-Identifier: Apache-2.0
"""The authorities of the site (MLHUB_CA_FILE), by which the agent and its pods know the platform, next to others."""

from __future__ import annotations

import ssl
from pathlib import Path

import httpx

from mlhub.agent.machine import MachineError

CA_FILE = "MLHUB_CA_FILE"


def trusted_file(home: Path, own: str) -> Path | None:
    """A file with all authorities, those of `own` and the usual ones, for programs that read one. None without `own`.

    Raises MachineError for what holds no certificates.
    """
    if not own:
        return None
    usual = httpx.create_ssl_context()
    usual.load_default_certs()
    try:
        ssl.create_default_context(cafile=own)
        text = "\n".join([Path(own).read_text(), *map(ssl.DER_cert_to_PEM_cert, usual.get_ca_certs(binary_form=True))])
    except (OSError, UnicodeDecodeError) as error:
        raise MachineError(f"{CA_FILE} {own}: {error}. Give a file with certificates in PEM.") from error
    file = home / "authorities.pem"
    file.write_text(text)
    file.chmod(0o644)  # pods of other users read it
    return file
