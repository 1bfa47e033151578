# SPDX-License-Identifier: Apache-2.0
"""Addresses of objects in S3-compatible buckets, signed with the keys of a project.

The platform's own S3 client is not used: it reads credentials from the environment, which are the platform's.
Source: AWS Signature Version 4, "Authenticating Requests: Using Query Parameters".
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from urllib.parse import quote, urlsplit

ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True)
class S3Keys:
    """session_token: "" for keys that do not expire."""

    access_key_id: str
    secret_access_key: str
    session_token: str = ""


def object_url(bucket: str, key: str, *, endpoint: str, region: str) -> str:
    """The address of an object, not signed. endpoint: "" = Amazon's."""
    path = quote(key, safe="/-_.~")
    if endpoint:
        return f"{endpoint.rstrip('/')}/{bucket}/{path}"
    if "." in bucket:  # a certificate for *.s3.amazonaws.com is not valid for it
        return f"https://s3.{region}.amazonaws.com/{bucket}/{path}"
    return f"https://{bucket}.s3.{region}.amazonaws.com/{path}"


def listing_query(*, prefix: str, after: str) -> dict[str, str]:
    """Of a request for the names that begin with the prefix, in its folder. after: the token of the page before."""
    more = {"continuation-token": after} if after else {}
    return {"delimiter": "/", "list-type": "2", "prefix": prefix, **more}


def with_query(url: str, query: Mapping[str, str]) -> str:
    """The address with a query as signatures need it: in order of name."""
    return f"{url}?{_encoded(query)}" if query else url


def signed_url(
    url: str,
    keys: S3Keys,
    *,
    region: str,
    now: datetime,
    valid_for_s: int,
    query: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The address for GET requests by anyone who has it. now: in UTC; url: without a query, its path quoted."""
    parts = urlsplit(url)
    at = now.strftime("%Y%m%dT%H%M%SZ")
    scope = f"{at[:8]}/{region}/s3/aws4_request"
    signed = {
        **query,
        "X-Amz-Algorithm": ALGORITHM,
        "X-Amz-Credential": f"{keys.access_key_id}/{scope}",
        "X-Amz-Date": at,
        "X-Amz-Expires": str(valid_for_s),
        "X-Amz-SignedHeaders": "host",
        **({"X-Amz-Security-Token": keys.session_token} if keys.session_token else {}),
    }
    encoded = _encoded(signed)
    canonical = f"GET\n{parts.path}\n{encoded}\nhost:{parts.netloc}\n\nhost\nUNSIGNED-PAYLOAD"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = f"AWS4{keys.secret_access_key}".encode()
    for part in (at[:8], region, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, f"{ALGORITHM}\n{at}\n{scope}\n{digest}".encode(), "sha256").hex()
    return f"{url}?{encoded}&X-Amz-Signature={signature}"


def _encoded(query: Mapping[str, str]) -> str:
    return "&".join(f"{quote(name, safe='')}={quote(query[name], safe='-_.~')}" for name in sorted(query))
