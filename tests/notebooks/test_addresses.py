# SPDX-License-Identifier: Apache-2.0
"""Where notebooks may be, and which host is whose."""

from __future__ import annotations

from uuid import UUID

import pytest

from mlhub.notebooks.addresses import check_origin, job_of_host, origin_of, usual_origin

JOB = UUID("018f0000-0000-7000-8000-000000000001")
PATTERN = "https://*.notebooks.example.org"


def test_a_platform_on_this_machine_has_a_place_for_notebooks_and_others_must_name_one() -> None:
    assert usual_origin("http://127.0.0.1:8000") == "http://*.notebooks.localhost:8000"
    assert usual_origin("https://mlhub.example.org") == ""
    assert usual_origin("http://10.0.0.7:8000") == ""


@pytest.mark.parametrize(
    "pattern",
    [
        "https://notebooks.example.org", "*.notebooks.example.org", "https://*", "https://*.", "ftp://*.n.example.org",
        "https://*.*.example.org", "https://*.n.example.org/path", "https://a@*.n.example.org", "http://*.n.example.org",
        "https://*.mlhub.example.org", "https://*.n.mlhub.example.org", "https://x*.n.example.org",
        "https://*.n.example.org:abc", "https://*.n.example.org.", "https://*.n;x.example.org",
    ],
)  # fmt: skip
def test_an_origin_that_is_none_or_not_safe_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"https?://|[Pp]ort"):
        check_origin(pattern, public_url="https://mlhub.example.org")


def test_an_origin_is_written_as_browsers_send_it() -> None:
    for pattern in ("https://*.Notebooks.Example.org", "HTTPS://*.notebooks.example.org:443"):
        assert check_origin(pattern, public_url="https://mlhub.example.org") == PATTERN
    other = check_origin("https://*.notebooks.example.org:8443", public_url="https://mlhub.example.org")
    assert other == f"{PATTERN}:8443"


def test_each_notebook_has_a_host_of_its_own() -> None:
    assert check_origin(f"{PATTERN}/", public_url="https://mlhub.example.org") == PATTERN
    origin = origin_of(JOB, pattern=PATTERN)
    assert origin == f"https://{JOB}.notebooks.example.org"
    assert job_of_host(origin.removeprefix("https://"), pattern=PATTERN) == JOB
    assert job_of_host(origin.removeprefix("https://").upper(), pattern=PATTERN) == JOB


@pytest.mark.parametrize(
    "host",
    [
        "", "notebooks.example.org", ".notebooks.example.org", "x.notebooks.example.org", f"{JOB}.example.org",
        f"{JOB}.notebooks.example.org.evil.org", f"{JOB.hex}.notebooks.example.org", f"{{{JOB}}}.notebooks.example.org",
        f"a.{JOB}.notebooks.example.org", f"{JOB}.notebooks.example.org:8443",
    ],
)  # fmt: skip
def test_every_other_host_is_the_platforms(host: str) -> None:
    assert job_of_host(host, pattern=PATTERN) is None
    assert job_of_host(host, pattern="") is None
