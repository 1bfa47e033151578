# SPDX-License-Identifier: Apache-2.0
"""The JSON of a version's source: what a request names, and what was found there."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from mlhub.core.api.strict import StrictSerializer
from mlhub.datasets.sources.patterns import MAX_SHARDS


class SourceSecretsSerializer(StrictSerializer):
    """Names of secrets of the project, by what they are for."""

    token = serializers.CharField(
        max_length=100, required=False, help_text="Of https:// and hf://: sent as a bearer token to that host alone."
    )
    access_key_id = serializers.CharField(max_length=100, required=False, help_text="Of s3://: the id of the key.")
    secret_access_key = serializers.CharField(max_length=100, required=False, help_text="Of s3://: the key itself.")
    session_token = serializers.CharField(
        max_length=100, required=False, help_text="Of s3://: the token of keys that expire."
    )


def without_query(uri: str) -> str:
    """An address as it is shown: its query may hold a signature."""
    return uri.partition("?")[0]


class Sha256Field(serializers.RegexField):
    """A digest in hexadecimal digits; capitals, as some systems print them, are the same."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            r"^[0-9a-f]{64}$",
            max_length=64,
            error_messages={"invalid": "A SHA-256 has 64 hexadecimal digits, as sha256sum FILE prints it."},
            **options,
        )

    def to_internal_value(self, data: Any) -> str:
        return str(super().to_internal_value(data)).lower()


class ShardRequestSerializer(StrictSerializer):
    """One of the files of a new version."""

    uri = serializers.CharField(max_length=2000, help_text="Its address, or a pattern with braces.")
    sha256 = Sha256Field(required=False, help_text="The SHA-256 that this file must have.")
    etag = serializers.CharField(
        max_length=300, required=False, help_text="The entity tag that this address must have; another is refused."
    )


class SourceRequestSerializer(StrictSerializer):
    """Where the file, or the shards, of a new version are fetched from."""

    uri = serializers.CharField(
        max_length=2000,
        required=False,
        help_text="https://host/path, s3://bucket/key, hf://datasets/OWNER/NAME@REVISION/PATH, or file:///path in a "
        "folder that the site offers. Of shards a pattern: train-{000000..000099}.tar, {a,b}.tar, and but for web "
        "servers *.parquet.",
    )
    shards = serializers.ListField(
        child=ShardRequestSerializer(),
        required=False,
        max_length=MAX_SHARDS,
        help_text="Instead of uri: the addresses of the shards, each with what it must be.",
    )
    sha256 = Sha256Field(required=False, help_text="The SHA-256 that the file must have; anything else is refused.")
    etag = serializers.CharField(
        max_length=300, required=False, help_text="The entity tag that the address must have; another is refused."
    )
    endpoint = serializers.CharField(
        max_length=500, required=False, help_text="Of s3://: the address of a store that is not Amazon's."
    )
    region = serializers.RegexField(
        r"^[a-z0-9-]{1,40}$",
        max_length=40,
        required=False,
        help_text="Of s3://: the bucket's region; by default us-east-1.",
    )
    secrets = SourceSecretsSerializer(required=False, help_text="Names of secrets of the project that let it in.")


class FetchProgressSerializer(serializers.Serializer[Any]):
    fetched_bytes = serializers.IntegerField(help_text="How many bytes have come.")
    n_fetched = serializers.IntegerField(required=False, help_text="Of shards: how many are there whole.")
    n_files = serializers.IntegerField(required=False, help_text="Of shards: how many there are.")
    total_bytes = serializers.IntegerField(allow_null=True, help_text="How many there are; null when it is not known.")


class FoundSerializer(serializers.Serializer[Any]):
    """What the address had when the file was fetched."""

    etag = serializers.CharField(required=False, help_text="The entity tag; empty when the server gives none.")
    last_modified = serializers.CharField(required=False, help_text="When it was changed, in the server's words.")
    revision = serializers.CharField(required=False, help_text="Of hf://: the commit that the revision named.")
    fetched_at = serializers.DateTimeField(required=False, help_text="When the address was read.")
    is_changed = serializers.BooleanField(
        required=False,
        allow_null=True,
        help_text="Of a refreshed version: whether it is another file than the earlier version's; null otherwise.",
    )


class ShardSerializer(serializers.Serializer[Any]):
    """A file of a version of many: what was asked for, and what was found."""

    uri = serializers.SerializerMethodField(help_text="The address, without a query.")
    name = serializers.CharField(help_text="The name under which it is stored.")
    sha256 = serializers.CharField(help_text="The SHA-256 that was required; empty for none.")
    etag = serializers.CharField(help_text="The entity tag that was required; empty for none.")
    stored = serializers.CharField(help_text="The SHA-256 of the stored file; empty before it is fetched.")
    size_bytes = serializers.IntegerField(allow_null=True, help_text="Its size; null before it is fetched.")
    found = FoundSerializer(help_text="What was found at the address.")

    def get_uri(self, shard: dict[str, Any]) -> str:
        return without_query(shard["uri"])


class SourceSerializer(serializers.Serializer[Any]):
    """Of a version by reference: what was asked for, and what was found."""

    uri = serializers.SerializerMethodField(
        help_text="The address or pattern, without a query, which may hold a signature; empty for a list of addresses."
    )
    n_shards = serializers.SerializerMethodField(
        help_text="How many files it has; null for a single one, 0 before a wildcard's files are listed."
    )
    sha256 = serializers.CharField(help_text="The SHA-256 that was required; empty for none.")
    etag = serializers.CharField(help_text="The entity tag that was required; empty for none.")
    endpoint = serializers.CharField(help_text="Of s3://: the store's address; empty for Amazon's.")
    region = serializers.CharField(help_text="Of s3://: the region; empty for the default.")
    secrets = serializers.DictField(
        child=serializers.CharField(), help_text="Names of the project's secrets, by what they are for."
    )
    refresh_of = serializers.UUIDField(allow_null=True, help_text="The version that it was refreshed from.")
    found = FoundSerializer(help_text="What was found there; empty before the server answered.")
    progress = FetchProgressSerializer(allow_null=True, help_text="While it is fetched: how far; null otherwise.")

    def get_uri(self, source: dict[str, Any]) -> str:
        return without_query(str(source["uri"]))

    def get_n_shards(self, source: dict[str, Any]) -> int | None:
        return len(source["shards"]) if "shards" in source else None
