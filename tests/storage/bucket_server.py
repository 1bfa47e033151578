# SPDX-License-Identifier: Apache-2.0
"""An S3 server for tests: the package localbucket, which speaks the real protocol over real HTTP, on a folder."""

from __future__ import annotations

import json
import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from localbucket import S3_NAMESPACE, UPLOAD_META, UPLOADS_DIR, S3Handler, iso_timestamp, sub_element


@dataclass
class BucketServer:
    """requests: method and path of each, without the query; copies: the sources of those that copied a part.

    lists_uploads: multipart uploads under way are listed. is_away: connections are closed without an answer.
    """

    url: str
    root: Path
    requests: list[tuple[str, str]]
    copies: list[str] = field(default_factory=list)
    lists_uploads: bool = True
    is_away: bool = False

    def file(self, key: str) -> Path:
        return self.root / "blobs" / key

    def unfinished(self) -> list[Path]:
        """A file for each multipart upload that was neither completed nor aborted; it was begun when it was written."""
        return sorted((self.root / UPLOADS_DIR).glob(f"*/{UPLOAD_META}"))


@contextmanager
def bucket_server(root: Path) -> Iterator[BucketServer]:
    (root / "blobs").mkdir(parents=True)
    found = BucketServer("", root, [])

    class Handler(S3Handler):  # type: ignore[misc]
        data_root = root

        def parse_request(self) -> bool:
            is_sound = bool(super().parse_request())
            if is_sound:
                found.requests.append((self.command, self.path.partition("?")[0]))
                if (source := self.headers.get("x-amz-copy-source")) and "partNumber=" in self.path:
                    found.copies.append(source)
            return is_sound and not found.is_away

        def _get_request(self, bucket: str, key: str) -> None:
            """Lists multipart uploads besides, in one page."""
            if key or "uploads" not in self.query or not found.lists_uploads:
                super()._get_request(bucket, key)
                return
            listed = ET.Element("ListMultipartUploadsResult", xmlns=S3_NAMESPACE)
            sub_element(listed, "IsTruncated", "false")
            for path in found.unfinished():
                begun = json.loads(path.read_text())
                if begun["bucket"] == bucket and begun["key"].startswith(self.query.get("prefix", "")):
                    upload = ET.SubElement(listed, "Upload")
                    sub_element(upload, "Key", begun["key"])
                    sub_element(upload, "UploadId", path.parent.name)
                    sub_element(upload, "Initiated", iso_timestamp(path.stat().st_mtime))
            self._send_xml(listed)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    found.url = f"http://127.0.0.1:{server.server_port}"
    yield found
    server.shutdown()
    server.server_close()
