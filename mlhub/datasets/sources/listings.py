# SPDX-License-Identifier: Apache-2.0
"""Which files of a place an address with a wildcard means: of a bucket, of the hub, or of a folder of the site."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx

from mlhub.datasets.sources import patterns, site_folders
from mlhub.datasets.sources.downloads import check_status, words_of
from mlhub.datasets.sources.failure import FetchError
from mlhub.datasets.sources.locations import allowed_inside, listing_address, scheme_of
from mlhub.datasets.sources.web_requests import AwayError, opened

MAX_PAGES = 20  # of a folder, of a thousand names each
MAX_PAGE_BYTES = 8 * 2**20
KEY = re.compile(r"<Contents>.*?<Key>([^<]*)</Key>", re.DOTALL)
NEXT = re.compile(r"<NextContinuationToken>([^<]*)</NextContinuationToken>")


def listed(source: Mapping[str, Any], secrets: Mapping[str, str]) -> list[str]:
    """The addresses that the wildcard of the source's uri means, in order of name. Raises FetchError."""
    uri: str = source["uri"]
    scheme = scheme_of(uri)
    try:
        if scheme == "file":
            names = site_folders.names_in(uri)
        else:
            names = _in_bucket(source, secrets) if scheme == "s3" else _on_hub(source, secrets)
    except (httpx.TransportError, AwayError) as error:
        raise FetchError(
            "unreachable",
            f"The list of files could not be read: {words_of(error)}",
            "Check that the address can be reached from the platform, then fetch it again.",
        ) from error
    found = patterns.matching(names, uri)
    if not found:
        raise FetchError(
            "not_found", f"None of the {len(names):,} files there has such a name.", "Check the pattern and the folder."
        )
    if len(found) > patterns.MAX_SHARDS:
        problem = patterns.too_many()
        raise FetchError("too_many", problem.message, problem.remedy or "")
    folder = uri.rpartition("/")[0]
    return [f"{folder}/{quote(name, safe='-_.~')}" for name in found]


def _in_bucket(source: Mapping[str, Any], secrets: Mapping[str, str]) -> list[str]:
    names, after = list[str](), ""
    for _ in range(MAX_PAGES):
        page = _read(source, secrets, after).decode(errors="replace")
        names += [html.unescape(key).rpartition("/")[2] for key in KEY.findall(page)]
        following = NEXT.search(page)
        if following is None:
            return names
        after = html.unescape(following[1])
    raise _too_long()


def _on_hub(source: Mapping[str, Any], secrets: Mapping[str, str]) -> list[str]:
    try:
        entries = json.loads(_read(source, secrets, ""))
        found = [str(one["path"]).rpartition("/")[2] for one in entries if one["type"] == "file"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise FetchError("refused_by_server", "The hub's list of files cannot be read.", "Name each file.") from error
    if len(found) >= 1000:  # further pages would follow
        raise _too_long()
    return found


def _read(source: Mapping[str, Any], secrets: Mapping[str, str], after: str) -> bytes:
    found = bytearray()
    with opened(listing_address(source, secrets, after=after), {}, allowed_inside()) as answer:
        check_status(answer.response)
        for chunk in answer.response.iter_raw():
            found += chunk
            if len(found) > MAX_PAGE_BYTES:
                raise _too_long()
    return bytes(found)


def _too_long() -> FetchError:
    return FetchError("too_many", "The folder has too many files to list.", "Name the shards by numbers in braces.")
