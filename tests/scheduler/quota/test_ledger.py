# SPDX-License-Identifier: Apache-2.0
"""The books of a tree of tenants: yes or no is the same answer as a reason or none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.api.host_resources import HostResources
from scheduler.api.snapshot import TenantSnapshot as T
from scheduler.api.user_limits import UserLimit
from scheduler.quota.ledger import Ledger

LIMITED = UserLimit("ada", max_gpus=3, max_running_jobs=2, gpus_by_type=(("v100", 2),))


@given(
    limits=st.lists(st.none() | st.integers(0, 6), min_size=4, max_size=4),
    guarantee=st.none() | st.integers(0, 8),
    booked=st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 3), st.sampled_from(["", "ada"])), max_size=4),
    asked=st.tuples(st.sampled_from("ab"), st.integers(0, 8), st.integers(0, 1), st.sampled_from(["", "ada"])),
)
def test_what_is_allowed_is_what_is_not_refused(
    limits: list[int | None],
    guarantee: int | None,
    booked: list[tuple[str, int, str]],
    asked: tuple[str, int, int, str],
) -> None:
    root_gpus, root_jobs, gpus, jobs = limits
    ledger = Ledger(
        (
            T("root", max_gpus=root_gpus, max_running_jobs=root_jobs),
            T("a", parent="root", max_gpus=gpus, guarantee=guarantee, user_limits=(LIMITED,)),
            T("b", parent="root", max_running_jobs=jobs),
        ),
        n_gpus=12,
    )
    for tenant, n, user in booked:
        ledger.reserve(tenant, gpus=n, user=user, gpu_type="v100")
    tenant, n, n_jobs, user = asked
    for books in (ledger, ledger.copy()):
        refused = books.refusal(tenant, gpus=n, jobs=n_jobs, user=user, gpu_type="v100")
        assert books.allows(tenant, gpus=n, jobs=n_jobs, user=user, gpu_type="v100") == (refused is None)


def test_an_unknown_tenant_is_named() -> None:
    with pytest.raises(ValueError, match="tenant 'x' is not in the snapshot"):
        Ledger((T("a"),)).allows("x", gpus=1)


NESTED = (T("Acme"), T("research", parent="Acme"), T("images", parent="research"), T("vision", parent="images"))


@pytest.mark.parametrize(
    ("limited", "who"),
    [
        ("vision", "An admin of images or of Acme can raise"),
        ("images", "An admin of research or of Acme can raise"),
        ("research", "An admin of Acme can raise"),
        ("Acme", "An admin of the platform can raise"),
    ],
)
@pytest.mark.parametrize("rule", ["max_gpus", "max_running_jobs", "gpus_by_type", "max_cpus", "guarantee", "user"])
def test_every_limit_says_who_can_raise_it_the_admins_of_its_own_branch_first(
    limited: str, who: str, rule: str
) -> None:
    if rule == "user":
        found: dict[str, Any] = {"user_limits": (LIMITED,)}
        who = {"Acme": "An admin of Acme can raise"}.get(limited, f"An admin of {limited} or of Acme can raise")
    elif rule == "guarantee":
        found = {"guarantee": 0, "borrow_limit": 3}
    else:
        found = {rule: (("v100", 3),) if rule == "gpus_by_type" else 3}
    tree = tuple(replace(at, **found) if at.id == limited else at for at in NESTED)
    more = HostResources(cpus=4.0) if rule == "max_cpus" else HostResources()
    refused = Ledger(tree, n_gpus=12).refusal("vision", gpus=4, jobs=4, user="ada", gpu_type="v100", host=more)
    assert refused is not None
    assert who in refused.sentence
