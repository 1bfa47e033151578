# SPDX-License-Identifier: Apache-2.0
"""A package index on this machine, and packages that bring their source alone."""

from __future__ import annotations

import io
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from ssl import SSLContext

BACKEND = """
import base64, hashlib, os, zipfile

NAME, VERSION = {name!r}, {version!r}

def attack(out):
{attack}

def get_requires_for_build_wheel(config_settings=None):
    return []

def build_wheel(folder, config_settings=None, metadata_directory=None):
    found = []
    attack(found.append)
    described = f"{{NAME}}-{{VERSION}}.dist-info"
    files = {{
        NAME + ".py": "FOUND = " + repr(found) + "\\n",
        described + "/METADATA": f"Metadata-Version: 2.1\\nName: {{NAME}}\\nVersion: {{VERSION}}\\n",
        described + "/WHEEL": "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }}
    record = "".join(path + ",,\\n" for path in files) + described + "/RECORD,,\\n"
    wheel = f"{{NAME}}-{{VERSION}}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, wheel), "w") as archive:
        for path, text in {{**files, described + "/RECORD": record}}.items():
            archive.writestr(path, text)
    return wheel
"""


def write_source(folder: Path, name: str, version: str, attack: str = "pass") -> Path:
    """Writes a source distribution whose build runs this code, given `out()` for what it found, which the package it
    builds has as `FOUND`."""
    folder.mkdir(parents=True, exist_ok=True)
    indented = "\n".join(f"    {line}" for line in attack.splitlines())
    files = {
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
        "backend.py": BACKEND.format(name=name, version=version, attack=indented),
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
    }
    path = folder / f"{name}-{version}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for inside, text in files.items():
            info = tarfile.TarInfo(f"{name}-{version}/{inside}")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return path


class _Pages(SimpleHTTPRequestHandler):
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        super().do_GET()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path, *, tls: SSLContext | None = None) -> Iterator[tuple[str, list[str]]]:
    """The folder by HTTP or HTTPS: the address of its root, and the paths that are asked for."""
    asked: list[str] = []
    handler = partial(type("Pages", (_Pages,), {"asked": asked}), directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http{'' if tls is None else 's'}://127.0.0.1:{server.server_address[1]}", asked
        finally:
            server.shutdown()


def write_index(folder: Path, files: Path, *, linked_at: str = "") -> None:
    """The pages of an index, below simple/, with links to all files of a folder below it, or at another address."""
    names: dict[str, list[str]] = {}
    for path in sorted(files.iterdir()):
        names.setdefault(path.name.partition("-")[0].replace("_", "-").lower(), []).append(path.name)
    for name, own in names.items():
        page = folder / "simple" / name / "index.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        at = linked_at or f"/{files.relative_to(folder)}"
        links = "".join(f'<a href="{at}/{file}">{file}</a>\n' for file in own)
        page.write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")
