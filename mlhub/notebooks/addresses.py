# SPDX-License-Identifier: Apache-2.0
"""Where notebooks are: each has an origin of its own, so that its pages cannot act as their viewer elsewhere."""

from __future__ import annotations

import re
from urllib.parse import urlsplit
from uuid import UUID

DEFAULT_PORTS = {"http": 80, "https": 443}
WILDCARD = re.compile(r"\*(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+")
LOCAL_NAMES = ("127.0.0.1", "localhost", "::1")


def usual_origin(public_url: str) -> str:
    """The pattern for a platform on this machine, whose browsers resolve names below localhost; else "": none."""
    found = urlsplit(public_url)
    if found.scheme != "http" or found.hostname not in LOCAL_NAMES:
        return ""
    return f"http://*.notebooks.localhost{f':{found.port}' if found.port else ''}"


def check_origin(pattern: str, *, public_url: str) -> str:
    """The pattern, such as https://*.notebooks.example.org; "" as it is. Raises ValueError for any other form."""
    if not pattern:
        return ""
    found, platform = urlsplit(pattern.lower()), urlsplit(public_url)
    name = found.hostname or ""
    if found.scheme not in DEFAULT_PORTS or not WILDCARD.fullmatch(name):
        raise ValueError(f"{pattern!r} is no origin such as https://*.notebooks.example.org")
    if found.path.rstrip("/") or found.query or found.fragment or found.username:
        raise ValueError(f"{pattern!r} has more than a scheme, a host and a port")
    if platform.hostname not in LOCAL_NAMES and name.endswith(f".{platform.hostname}"):
        raise ValueError(f"{pattern!r} is below the platform's own host, whose cookies its pages could set")
    if platform.scheme == "https" and found.scheme != "https":
        raise ValueError(f"{pattern!r} must begin with https://, as MLHUB_PUBLIC_URL does")
    # as browsers write it: the default port is left out
    port = "" if found.port in (None, DEFAULT_PORTS[found.scheme]) else f":{found.port}"
    return f"{found.scheme}://{name}{port}"


def origin_of(job_id: UUID, *, pattern: str) -> str:
    """The origin of one notebook."""
    return pattern.replace("*", str(job_id), 1)


def job_of_host(host: str, *, pattern: str) -> UUID | None:
    """The notebook that a Host header names; None for every other host."""
    if not pattern:
        return None
    suffix = urlsplit(pattern).netloc.removeprefix("*").lower()
    name = host.lower().removesuffix(suffix)
    if name == host.lower():
        return None
    try:
        found = UUID(name)
    except ValueError:
        return None
    return found if str(found) == name else None
