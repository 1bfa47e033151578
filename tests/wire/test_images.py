# SPDX-License-Identifier: Apache-2.0
"""Tests of references of container images, and of the entries that allow them."""

from __future__ import annotations

import pytest

from mlhub.wire.images import MAX_REFERENCE, allowed_images, is_allowed_image, is_reference, wrong_entry

DIGEST = f"sha256:{'0a' * 32}"


@pytest.mark.parametrize(
    "text",
    [
        "train",
        "team/train:1.4",
        "registry.example.org/team/train",
        "registry.example.org:5000/team/train:v1_x.2-rc",
        f"registry.example.org/team/train@{DIGEST}",
        f"registry.example.org/team/train:1.4@{DIGEST}",
        "localhost:5000/a__b/c---d",
    ],
)
def test_what_registries_take_is_a_reference(text: str) -> None:
    assert is_reference(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Train",
        "https://registry.example.org/team/train",
        "registry.example.org/team/train:",
        "registry.example.org/team/train:1.4 ",
        "registry.example.org/team/train@sha256:12",
        "registry.example.org//train",
        "-train",
        "train\n",
        "träin:1",
        "a" * (MAX_REFERENCE + 1),
    ],
)
def test_what_no_registry_takes_is_none(text: str) -> None:
    assert not is_reference(text)


@pytest.mark.parametrize(
    ("image", "is_allowed"),
    [
        ("registry.example.org/ml/train:1", True),
        ("registry.example.org/ml/deep/train@" + DIGEST, True),
        ("registry.example.org/mlx/train:1", False),
        ("registry.example.org/team/train:1.4", True),
        ("registry.example.org/team/train", False),
        ("registry.example.org/team/train-evil:1.4", False),
        ("registry.example.org/base:2", True),
        ("registry.example.org/base:2.1", False),
        ("evil.example.org/registry.example.org/ml/train:1", False),
    ],
)
def test_entries_allow_whole_references_and_those_that_begin_so(image: str, is_allowed: bool) -> None:
    setting = "registry.example.org/ml/, registry.example.org/team/train:*,registry.example.org/base:2,"
    allowed = allowed_images(setting)
    assert wrong_entry(allowed) is None
    assert is_allowed_image(image, allowed) is is_allowed
    assert not is_allowed_image(image, allowed_images(""))
    assert is_allowed_image(image, allowed_images("*"))


@pytest.mark.parametrize(
    "entry", ["https://registry.example.org/", "Registry/*/train", "a b", "registry.example.org/Team/"]
)
def test_an_entry_that_can_allow_nothing_is_found(entry: str) -> None:
    assert wrong_entry((entry, "registry.example.org/ml/")) == entry
