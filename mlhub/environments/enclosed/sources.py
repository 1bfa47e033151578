# SPDX-License-Identifier: Apache-2.0
"""Where the packages of builds come from, by the platform's settings and uv's own: hosts for the proxy of the sandbox,
and files and folders of this machine for its root folder."""

from __future__ import annotations

import contextlib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from mlhub.runtime.sandbox.egress.rules import EgressDestination, EgressRules, normalised

PYPI = "https://pypi.org/simple"
HTTPS = 443
PORTS = {"http": 80, "https": HTTPS}
# where the pages of a well-known index link its files at
LINKED = {
    "pypi.org": ("files.pythonhosted.org",),
    "test.pypi.org": ("test-files.pythonhosted.org",),
    "download.pytorch.org": ("download-r2.pytorch.org", "pypi.nvidia.com"),
}
TORCH_INDEX = "https://download.pytorch.org/whl"
INDEX_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS")
OF_INDEX = ("index-url", "extra-index-url", "find-links")  # of uv's own file
NAMED = re.compile(r"^[A-Za-z0-9._-]+=(?=[a-z]+://|/)")  # UV_INDEX=name=https://...
MAX_CONFIGURATION_BYTES = 2**20
CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


@dataclass
class PackageSources:
    """urls: of indexes and pages of links. paths: indexes and wheels on this machine's disk."""

    urls: list[str] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)

    def add(self, place: str) -> None:
        place = NAMED.sub("", place.strip())
        address = urlsplit(place)
        if address.scheme in PORTS:
            self.urls.append(place)
        elif address.scheme == "file":
            self.paths.append(Path(unquote(address.path)))
        elif place.startswith("/"):
            self.paths.append(Path(place))


def configuration_files(variables: Mapping[str, str]) -> list[Path]:
    """uv's own files on this machine, where they are there: the one that is named, else the user's and the system's."""
    if named := variables.get("UV_CONFIG_FILE"):
        return [Path(named)]
    if variables.get("UV_NO_CONFIG"):
        return []
    home = variables.get("XDG_CONFIG_HOME") or f"{variables.get('HOME', '')}/.config"
    places = (Path(home) / "uv" / "uv.toml", Path("/etc/uv/uv.toml"))
    return [path for path in places if path.is_file() and path.stat().st_size <= MAX_CONFIGURATION_BYTES]


def sources_of(
    index_url: str, wheelhouse: str, variables: Mapping[str, str], configuration: Sequence[Path]
) -> PackageSources:
    """All that uv may take packages from, given its variables and its own files."""
    found = PackageSources()
    for place in (index_url, wheelhouse):
        if place:
            found.add(place)
    for name in INDEX_VARIABLES:
        for place in re.split(r"[\s,]+", variables.get(name, "")):
            found.add(place)
    for path in configuration:
        for place in _configured(path):
            found.add(place)
    if not index_url and not wheelhouse and not any(variables.get(n) for n in INDEX_VARIABLES[:2]):
        found.add(PYPI)
    if variables.get("UV_TORCH_BACKEND"):
        found.add(variables.get("UV_TORCH_INDEX") or TORCH_INDEX)
    return found


def egress_of(
    sources: PackageSources, variables: Mapping[str, str], more_hosts: Sequence[str], *, certificates: str = ""
) -> EgressRules:
    """The hosts of these sources, those where they are known to link files, and `more_hosts` with HTTPS or a port.

    certificates: in PEM, that the site's proxy is checked by; "" = as SSL_CERT_FILE says. Raises OSError.
    """
    destinations, linked = [], [host for host in more_hosts if host.strip()]
    for url in sources.urls:
        address = urlsplit(url)
        host, port = normalised(address.hostname or ""), PORTS[address.scheme]
        with contextlib.suppress(ValueError):
            port = address.port or port
        destinations.append(EgressDestination(host, port, is_configured=True))
        linked += LINKED.get(host, ())
    for each in linked:
        host, _, digits = each.strip().rpartition(":") if re.search(r":\d+$", each.strip()) else (each.strip(), "", "")
        destinations.append(EgressDestination(normalised(host), int(digits or HTTPS), is_configured=False))
    lower = {name.lower(): value for name, value in sorted(variables.items()) if value}  # http_proxy comes last
    proxies = {scheme: lower.get(f"{scheme}_proxy") or lower.get("all_proxy", "") for scheme in PORTS}
    if not certificates and variables.get("SSL_CERT_FILE") and any(map(_is_encrypted, proxies.values())):
        text = Path(variables["SSL_CERT_FILE"]).read_text(encoding="utf-8", errors="replace")
        certificates = "\n".join(CERTIFICATE.findall(text))  # without comments, which may be of any letters
    return EgressRules(
        tuple(dict.fromkeys(destinations)),
        tuple((scheme, _with_scheme(url)) for scheme, url in proxies.items() if url),
        tuple(part for part in lower.get("no_proxy", "").split(",") if part.strip()),
        certificates if any(map(_is_encrypted, proxies.values())) else "",
    )


def _is_encrypted(proxy: str) -> bool:
    return proxy.lower().startswith("https://")


def _with_scheme(proxy: str) -> str:
    return proxy if "://" in proxy else f"http://{proxy}"


def _configured(path: Path) -> Iterator[str]:
    """The indexes that uv's file names. One that cannot be read names none: uv says what is wrong with it."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return
    pip = table.get("pip")
    for part in (table, pip if isinstance(pip, dict) else {}):
        for name in OF_INDEX:
            yield from _strings(part.get(name))
        indexes = part.get("index")
        for index in indexes if isinstance(indexes, list) else ():
            if isinstance(index, dict):
                yield from _strings(index.get("url"))


def _strings(value: Any) -> list[str]:
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]


def is_open(path: Path) -> bool:
    """Whether every user may read the file, or all files of the folder; of large folders the first ones count."""
    for each in [path] if path.is_file() else [path, *sorted(path.glob("*"))[:1000]]:
        needed = 0o005 if each.is_dir() else 0o004
        if os.stat(each).st_mode & needed != needed:
            return False
    return True
