# SPDX-License-Identifier: Apache-2.0
"""Authorities are read once, and again when what names them has changed."""

from __future__ import annotations

import os
from pathlib import Path

import certifi
import pytest

from mlhub.core.security.certificates import configured_authorities, public_authorities


def written(file: Path, certificate: str, *, at_s: int) -> None:
    file.write_text(certificate)
    os.utime(file, (at_s, at_s))


@pytest.fixture
def certificates() -> list[str]:
    """Of two authorities."""
    begin = "-----BEGIN CERTIFICATE-----"
    return [begin + part for part in Path(certifi.where()).read_text().split(begin)[1:3]]


def test_the_environment_names_no_authorities_for_addresses_of_users(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, certificates: list[str]
) -> None:
    written(tmp_path / "own.pem", certificates[0], at_s=1)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "own.pem"))
    assert len(public_authorities().get_ca_certs()) > 50
    assert public_authorities() is public_authorities()
    assert len(configured_authorities().get_ca_certs()) == 1


def test_a_file_of_authorities_is_read_again_only_when_it_was_replaced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, certificates: list[str]
) -> None:
    file = tmp_path / "own.pem"
    written(file, certificates[0], at_s=1)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    first = configured_authorities()
    assert configured_authorities() is first
    written(file, certificates[1], at_s=2)
    assert configured_authorities().get_ca_certs() != first.get_ca_certs()
    file.unlink()
    with pytest.raises(FileNotFoundError):
        configured_authorities()
    monkeypatch.delenv("SSL_CERT_FILE")
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    assert len(configured_authorities().get_ca_certs()) > 50
