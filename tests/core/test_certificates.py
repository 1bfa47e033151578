# SPDX-License-Identifier: Apache-2.0
"""Authorities are read once, and again when what names them has changed."""

from __future__ import annotations

import os
from pathlib import Path

import certifi
import pytest

from mlhub.core.security.certificates import (
    certificates_of_programs,
    check_authorities,
    configured_authorities,
    public_authorities,
)
from tests.authorities import site_authority


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


def test_the_sites_own_authority_is_trusted_next_to_all_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, certificates: list[str], settings
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    n_public = len(public_authorities().get_ca_certs())
    settings.CA_FILE = str(site_authority(tmp_path).certificate)
    check_authorities(settings.CA_FILE)
    for found in (public_authorities(), configured_authorities()):
        assert len(found.get_ca_certs()) == n_public + 1
    assert Path(settings.CA_FILE).read_text() in certificates_of_programs()
    assert certificates_of_programs().count("BEGIN CERTIFICATE") == n_public + 1

    written(tmp_path / "own.pem", certificates[0], at_s=1)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "own.pem"))
    assert len(configured_authorities().get_ca_certs()) == 2
    assert certificates_of_programs().count("BEGIN CERTIFICATE") == 2


@pytest.mark.parametrize("content", [None, "", "no certificate", "-----BEGIN CERTIFICATE-----\neA==\n"])
def test_a_file_without_certificates_of_authorities_is_refused(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "own.pem"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ValueError, match=f"{file}.*PEM"):
        check_authorities(str(file))
