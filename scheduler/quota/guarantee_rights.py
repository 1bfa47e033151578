# SPDX-License-Identifier: Apache-2.0
"""Whose guarantee covers a waiting job: one of GPUs of its type, of that in part, or one of any type."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from scheduler.api.snapshot import JobSnapshot
from scheduler.quota.borrowing import BorrowingLedger


class Cover(Enum):
    """What of a job is within a guarantee of its type of GPU; TYPE: all, PART: some, and the rest within one of any
    type. Claims are made in this order.
    """

    TYPE = "type"
    PART = "part"
    ANY = "any"


@dataclass(frozen=True)
class Right:
    """Names whose guarantee covers a job: one of GPUs of the type, or one of any type.

    part: of a gang that is larger than the guarantee of its type, so many GPUs are within that, and of whom.
    """

    owner: str
    is_of_type: bool
    part: int = 0
    part_of: str = ""


def rights_of(
    books: BorrowingLedger, job: JobSnapshot, n: int, level: int, cover: Cover, *, types: Iterable[str]
) -> dict[str, Right]:
    """Returns by type of GPU that the job may use: whose guarantee covers so many, up to this level of the tree."""
    types = [t for t in types if not job.gpu_types or t in job.gpu_types]
    if not books.types:
        owner = _owner(books, job.tenant, n, level, "")
        return {} if owner is None else dict.fromkeys(types, Right(owner, False))
    found = {}
    for gpu_type in types:
        of_type = books.of_type(gpu_type) if cover is Cover.TYPE else books
        owner = None if of_type is None else _owner(of_type, job.tenant, n, level, gpu_type)
        if owner is not None:
            part = _part_of_type(books, job, level, gpu_type) if cover is Cover.PART else (0, "")
            found[gpu_type] = Right(owner, cover is Cover.TYPE, *part)
    return found if cover is not Cover.PART or any(right.part for right in found.values()) else {}


def _part_of_type(books: BorrowingLedger, job: JobSnapshot, level: int, gpu_type: str) -> tuple[int, str]:
    """GPUs of the type within a guarantee of it up to this level, and whose that is."""
    of_type = books.of_type(gpu_type)
    part = 0 if of_type is None else of_type.unused(job.tenant)
    owner = _owner(of_type, job.tenant, part, level, gpu_type) if of_type is not None and part else None
    return (0, "") if owner is None else (part, owner)


def _owner(books: BorrowingLedger, tenant: str, n: int, level: int, gpu_type: str) -> str | None:
    """Who up to this level has so many more within its guarantee; None if that is no one."""
    is_within, owner = books.owner(tenant, n, gpu_type=gpu_type)
    return owner if is_within and owner is not None and books.line(tenant).index(owner) <= level else None
