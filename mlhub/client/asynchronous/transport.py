# SPDX-License-Identifier: Apache-2.0
"""Requests to the REST API with one token: repeated where that is safe, answers as records, errors as exceptions."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from mlhub.client.asynchronous.resumable import FROM_BYTES, AsyncResumableFile
from mlhub.client.files import OpenedFile, form_of, opened, partial_file
from mlhub.client.problems import Refused, Unreachable, content_of, refusal_of, usable_token
from mlhub.client.records import ApiRecord, ApiRows, decoded
from mlhub.client.requests import (
    UNSET,
    Progress,
    Repetition,
    StreamEvent,
    given,
    query_of,
)

R = TypeVar("R", bound=ApiRecord)
PATIENCE_S = 120.0  # for a platform that is away, and for the inspection of an upload
TIMEOUT = httpx.Timeout(60.0, connect=10.0)
STREAM_TIMEOUT_S = 30.0  # six of the heartbeats that the platform sends while nothing happens
STORED_WITHIN_S = 900.0  # the platform reads the whole of a large file once, and moves it into its bucket
REPEATABLE = ("GET", "HEAD")


class AsyncTransport:
    """Everything below /api/v1. Proxies and certificates are those of httpx's environment variables.

    Reads, and requests with an idempotency key, are repeated after a cut and while the platform is away; any request
    after the time that 429 names; for patience_s in all. progress: called with a line of text whenever something
    happens to an upload, or to what is waited for. Raises NotSignedIn for a token that cannot be sent.
    """

    def __init__(
        self, url: str, token: str, *, patience_s: float = PATIENCE_S, progress: Progress | None = None
    ) -> None:
        self.url, self.patience_s, self.progress = url.rstrip("/"), patience_s, progress
        headers = {"Authorization": f"Bearer {usable_token(token)}"}
        self._http = httpx.AsyncClient(
            base_url=f"{self.url}/api/v1", headers=headers, timeout=TIMEOUT, follow_redirects=True
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def exchange(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, key: str = "", **sent: Any
    ) -> httpx.Response:
        """One request, and its answer whatever the status. sent: as httpx takes it. Raises Unreachable."""
        patience = Repetition(self.patience_s, is_repeatable=method in REPEATABLE or bool(key))
        headers = {**(headers or {}), **({"Idempotency-Key": key} if key else {})}
        while True:
            try:
                answer = await self._http.request(method, path, headers=headers, **sent)
                pause_s = patience.after_answer(answer)
                if pause_s is None:
                    return answer
            except httpx.TransportError as error:
                pause_s = patience.after_cut(error)
                if pause_s is None:
                    raise _unreachable(self.url, error) from error
            await asyncio.sleep(pause_s)

    async def content(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        content: bytes | None = None,
        key: str = "",
    ) -> Any:
        """The JSON of the answer. Raises Refused, Unreachable."""
        sent: dict[str, Any] = {"params": query_of(query)} if query else {}
        if body is not None:
            sent["json"] = given(body)
        if content is not None:
            sent |= {"content": content, "headers": {"Content-Type": "application/octet-stream"}}
        return content_of(await self.exchange(method, path, key=key, **sent))

    async def record(self, record: type[R], method: str, path: str, **sent: Any) -> R:
        """As content(), as an answer of this type. Raises Refused, Unreachable."""
        found = await self.content(method, path, **sent)
        if not isinstance(found, dict):
            raise Refused({"detail": f"{method} {path}: the answer is no object."})
        return record(found)

    async def rows(self, record: type[R], method: str, path: str, **sent: Any) -> ApiRows[R]:
        """As content(), as a list of answers of this type. Raises Refused, Unreachable."""
        found: ApiRows[R] = ApiRows(decoded(row, record) for row in await self.content(method, path, **sent))
        return found

    async def upload(
        self, record: type[R], path: str, *, body: Mapping[str, Any], query: Mapping[str, Any] | None = None
    ) -> R:
        """A form with a file. One of 8 MiB and more is sent in pieces, and goes on after a cut. Raises Refused,
        Unreachable, OSError."""
        fields = given({name: value for name, value in body.items() if name != "file"})
        source = body.get("file", UNSET)
        if source is UNSET:
            return await self._form(record, path, fields, query=query)
        with opened(source) as file:
            if file.size_bytes < FROM_BYTES:
                self._report(f"Uploading {file.filename}")
                return await self._form(record, path, fields, query=query, file=(file.filename, file.file.read()))
            project = fields.get("project")
            if not project:  # a new version, of a dataset or model that may have another name when all has arrived
                owner, _, below = path.rpartition("/")
                row = await self.content("GET", owner, query=query)
                project, query = str(row["project"]["id"]), None
                path = f"{owner.rpartition('/')[0]}/{row['id']}/{below}"
            fields["upload"] = await self.send(file, project=project)
            return await self._form(record, path, fields, query=query)

    async def send(self, file: OpenedFile, *, project: str) -> str:
        """The id of the upload of a whole file, sent in pieces. Raises Refused, Unreachable."""
        sending = AsyncResumableFile(
            file.file,
            size_bytes=file.size_bytes,
            filename=file.filename,
            project=project,
            on_bytes=lambda n: self._report(f"Uploading {file.filename}: {n / file.size_bytes:.0%}"),
        )
        return await sending.send(self)

    async def download(self, path: str, *, to: str | os.PathLike[str], query: Mapping[str, Any] | None = None) -> Path:
        """Writes the answer to a file, which is there once it is whole. Goes on after a cut where it stopped, when the
        content is still the same. Raises Refused, Unreachable, OSError."""
        patience, tag, target = Repetition(self.patience_s, is_repeatable=True), "", Path(to)
        with partial_file(target) as file:
            while True:
                headers = {"Accept-Encoding": "identity"}
                if tag and file.tell():
                    headers |= {"Range": f"bytes={file.tell()}-", "If-Range": tag}
                try:
                    async with self._http.stream("GET", path, params=query_of(query or {}), headers=headers) as answer:
                        if not answer.is_success:
                            await answer.aread()
                            pause_s = patience.after_answer(answer)
                            if pause_s is None:
                                raise refusal_of(answer)
                        else:
                            tag = answer.headers.get("ETag", "")
                            if answer.status_code != httpx.codes.PARTIAL_CONTENT:
                                file.seek(0)
                                file.truncate()
                            async for piece in answer.aiter_bytes():
                                file.write(piece)
                                patience.renew()
                            return target
                except httpx.TransportError as error:
                    pause_s = patience.after_cut(error)
                    if pause_s is None:
                        raise _unreachable(self.url, error) from error
                await asyncio.sleep(pause_s)

    async def stream(
        self, path: str, *, query: Mapping[str, Any] | None = None, cursor: str = ""
    ) -> AsyncIterator[StreamEvent]:
        """The frames of server-sent events after a cursor, without heartbeats, to the frame "end".

        A connection that breaks is made again where it stopped. Raises Refused, Unreachable.
        """
        import httpx_sse  # not needed to import mlhub.client

        patience = Repetition(self.patience_s, is_repeatable=True)
        while True:
            headers = {"Accept": "text/event-stream", **({"Last-Event-ID": cursor} if cursor else {})}
            try:
                async with self._http.stream(
                    "GET", path, params=query_of(query or {}), headers=headers, timeout=STREAM_TIMEOUT_S
                ) as answer:
                    pause_s = patience.after_answer(answer)
                    if not answer.is_success:
                        await answer.aread()
                        if pause_s is None:
                            raise refusal_of(answer)
                    else:
                        async for frame in httpx_sse.EventSource(answer).aiter_sse():
                            patience.renew()
                            cursor = frame.id or cursor
                            if frame.event == "heartbeat":
                                continue
                            data = frame.json()
                            if frame.event == "end" and data.get("code") == "access_changed":
                                break  # go on with the present rights
                            yield StreamEvent(frame.event, data, cursor)
                            if frame.event == "end":
                                return
                        pause_s = patience.after_end()
            except httpx.TransportError as error:
                pause_s = patience.after_cut(error)
                if pause_s is None:
                    raise _unreachable(self.url, error) from error
            if pause_s is None:
                raise Unreachable(f"{self.url}: the stream ended again and again.")
            await asyncio.sleep(pause_s)

    async def _form(
        self,
        record: type[R],
        path: str,
        fields: Mapping[str, Any],
        *,
        query: Mapping[str, Any] | None,
        file: tuple[str, bytes] | None = None,
    ) -> R:
        sent: dict[str, Any] = {"params": query_of(query)} if query else {}
        answer = await self.exchange("POST", path, files=form_of(fields, file), timeout=STORED_WITHIN_S, **sent)
        return record(content_of(answer))

    def _report(self, line: str) -> None:
        if self.progress is not None:
            self.progress(line)


def _unreachable(url: str, error: httpx.TransportError) -> Unreachable:
    return Unreachable(f"{url} does not answer: {error or type(error).__name__}")
