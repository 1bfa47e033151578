# SPDX-License-Identifier: Apache-2.0
"""Addresses of objects in S3-compatible buckets, signed with the keys of a project.

The platform's own S3 client is not used: it reads credentials from the environment, which are the platform's.
Source: AWS Signature Version 4, "Authenticating Requests: Using Query Parameters".
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from datetime import datetime
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


def signed_url(url: str, keys: S3Keys, *, region: str, now: datetime, valid_for_s: int) -> str:
    """The address for GET requests by anyone who has it. now: in UTC; url: without a query, its path quoted."""
    parts = urlsplit(url)
    at = now.strftime("%Y%m%dT%H%M%SZ")
    scope = f"{at[:8]}/{region}/s3/aws4_request"
    query = {
        "X-Amz-Algorithm": ALGORITHM,
        "X-Amz-Credential": f"{keys.access_key_id}/{scope}",
        "X-Amz-Date": at,
        "X-Amz-Expires": str(valid_for_s),
        "X-Amz-SignedHeaders": "host",
        **({"X-Amz-Security-Token": keys.session_token} if keys.session_token else {}),
    }
    encoded = "&".join(f"{quote(name, safe='')}={quote(query[name], safe='-_.~')}" for name in sorted(query))
    canonical = f"GET\n{parts.path}\n{encoded}\nhost:{parts.netloc}\n\nhost\nUNSIGNED-PAYLOAD"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = f"AWS4{keys.secret_access_key}".encode()
    for part in (at[:8], region, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, f"{ALGORITHM}\n{at}\n{scope}\n{digest}".encode(), "sha256").hex()
    return f"{url}?{encoded}&X-Amz-Signature={signature}"
