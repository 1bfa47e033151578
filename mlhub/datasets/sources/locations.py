# SPDX-License-Identifier: Apache-2.0
"""What an address of a dataset's file means: https, s3, the hub of datasets (hf), or a folder of the site (file)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from django.conf import settings
from django.utils import timezone

from mlhub.core.errors import InvalidInputError
from mlhub.core.security.destinations import AllowedInside, check_url
from mlhub.datasets.sources.s3_signing import S3Keys, listing_query, object_url, signed_url, with_query
from mlhub.datasets.sources.site_folders import check_path

FIELD = "source.uri"
EXAMPLE = "https://example.org/data/iris.csv"
FORMS = f"{EXAMPLE}, s3://bucket/key, hf://datasets/OWNER/NAME@REVISION/PATH or file:///a/folder/of/the/site/iris.csv"
HUB = re.compile(r"datasets/(?P<name>[\w.-]+/[\w.-]+?)(?:@(?P<revision>[^/]+))?/(?P<path>.+)")
DEFAULT_REGION = "us-east-1"
SIGNED_FOR_S = 3600
SECRETS_OF = {
    "https": ("token",),
    "http": ("token",),
    "hf": ("token",),
    "s3": ("access_key_id", "secret_access_key", "session_token"),
    "file": (),
}


@dataclass(frozen=True)
class WebAddress:
    """headers: with secrets in them, for the host of the url alone."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)


def allowed_inside() -> AllowedInside:
    """Hosts of the site that files may be fetched from, though they are not public."""
    return AllowedInside("MLHUB_DATA_ALLOW", tuple(settings.DATA_ALLOW))


def scheme_of(uri: str) -> str:
    """Raises InvalidInputError for what is no address of a known kind."""
    try:
        scheme = urlsplit(uri).scheme.lower()
    except ValueError:
        scheme = ""
    if scheme not in SECRETS_OF:
        raise InvalidInputError(f"{uri[:200]} is no address of a file.", field=FIELD, remedy=f"Give one like {FORMS}.")
    return scheme


def filename_of(uri: str) -> str:
    """The last part of the address's path. Raises InvalidInputError when there is none."""
    name = PurePosixPath(unquote(urlsplit(uri).path)).name
    if name in ("", "..") or not name.isprintable() or uri.partition("?")[0].endswith("/"):
        raise InvalidInputError("The address names no file.", field=FIELD, remedy=f"Give one like {FORMS}.")
    return name[:255]


def check_source(source: Mapping[str, Any]) -> None:
    """What can be said before anything is fetched. Raises InvalidInputError naming the field."""
    scheme = scheme_of(source["uri"])
    filename_of(source["uri"])
    unknown = sorted(set(source.get("secrets") or {}) - set(SECRETS_OF[scheme]))
    if unknown:
        taken = " and ".join(SECRETS_OF[scheme]) or "none"
        raise InvalidInputError(
            f"An address of {scheme}:// takes no secret called {unknown[0]}.",
            field=f"source.secrets.{unknown[0]}",
            remedy=f"It takes {taken}.",
        )
    for name in ("endpoint", "region"):
        if source.get(name) and scheme != "s3":
            raise InvalidInputError(
                f"Only s3:// has a {name}.", field=f"source.{name}", remedy=f"Leave {name} out of the source."
            )
    if scheme == "file":
        check_path(source["uri"])
        return
    url = _plain_url(source)
    check_url(url, allowed_inside(), field="source.endpoint" if source.get("endpoint") else FIELD, example=EXAMPLE)


def web_address(source: Mapping[str, Any], secrets: Mapping[str, str]) -> WebAddress:
    """Where to send the request, with the values of the source's secrets by their purpose."""
    url = _plain_url(source)
    if scheme_of(source["uri"]) == "s3" and secrets:
        keys = S3Keys(**secrets)
        region = source.get("region") or DEFAULT_REGION
        return WebAddress(signed_url(url, keys, region=region, now=timezone.now(), valid_for_s=SIGNED_FOR_S))
    token = secrets.get("token")
    return WebAddress(url, {"Authorization": f"Bearer {token}"} if token else {})


def listing_address(source: Mapping[str, Any], secrets: Mapping[str, str], *, after: str = "") -> WebAddress:
    """Where a bucket, or the hub, lists the files of the folder of the source's uri. after: the page before, of s3."""
    parts = urlsplit(source["uri"])
    if scheme_of(source["uri"]) == "s3":
        region = source.get("region") or DEFAULT_REGION
        url = object_url(parts.netloc, "", endpoint=source.get("endpoint") or "", region=region)
        folder = unquote(parts.path.lstrip("/").rpartition("/")[0])
        query = listing_query(prefix=f"{folder}/" if folder else "", after=after)
        if not secrets:
            return WebAddress(with_query(url, query))
        now = timezone.now()
        keys = S3Keys(**secrets)
        return WebAddress(signed_url(url, keys, region=region, now=now, valid_for_s=SIGNED_FOR_S, query=query))
    found = _on_hub(source["uri"])
    folder = quote(unquote(found["path"].rpartition("/")[0]), safe="/-_.~")
    revision = quote(unquote(found["revision"] or "main"), safe="")
    url = f"{settings.HUB_URL.rstrip('/')}/api/datasets/{found['name']}/tree/{revision}/{folder}".rstrip("/")
    token = secrets.get("token")
    return WebAddress(url, {"Authorization": f"Bearer {token}"} if token else {})


def at_revision(uri: str, commit: str) -> str:
    """An address of the hub, at a commit instead of a branch or tag."""
    found = _on_hub(uri)
    return f"hf://datasets/{found['name']}@{quote(commit, safe='')}/{found['path']}"


def _plain_url(source: Mapping[str, Any]) -> str:
    uri = source["uri"]
    scheme, parts = scheme_of(uri), urlsplit(uri)
    if scheme in ("https", "http"):
        return str(parts._replace(fragment="").geturl())
    if scheme == "s3":
        return object_url(
            parts.netloc,
            unquote(parts.path.lstrip("/")),
            endpoint=source.get("endpoint") or "",
            region=source.get("region") or DEFAULT_REGION,
        )
    found = _on_hub(uri)
    revision = quote(unquote(found["revision"] or "main"), safe="")
    path = quote(unquote(found["path"]), safe="/-_.~")
    return f"{settings.HUB_URL.rstrip('/')}/datasets/{found['name']}/resolve/{revision}/{path}"


def _on_hub(uri: str) -> re.Match[str]:
    found = HUB.fullmatch(uri.partition("://")[2])
    if found is None:
        raise InvalidInputError(
            f"{uri[:200]} names no file of a dataset.",
            field=FIELD,
            remedy="Write it like hf://datasets/OWNER/NAME@REVISION/PATH.",
        )
    return found
