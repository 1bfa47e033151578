# SPDX-License-Identifier: Apache-2.0
"""Programs that attack the platform: none gets anything, as root or as an ordinary user, and each end has a verdict."""

from __future__ import annotations

import functools
import json
import os

import pytest

from mlhub.runtime.sandbox import landlock
from mlhub.runtime.sandbox.capabilities import isolation
from tests.runtime.sandbox import ordinary_user
from tests.runtime.sandbox.attacks import ATTACKS, ORDINARY, ROOT, Attack
from tests.runtime.sandbox.world import LANDLOCK, NAMESPACES, OUTSIDE, Seen

pytestmark = pytest.mark.slow
TIMEOUT_S = 800.0
N_IN_A_PART = 20
USERS = (ROOT, ORDINARY) if os.geteuid() == 0 else (ORDINARY,)
OUTSIDE_AS = {  # who has the fewest rights with which the attack succeeds
    a.name: user for a in ATTACKS.values() for user in USERS if user in a.works_outside
}


def is_claimed(attack: Attack, mode: str) -> bool:
    """Whether the platform reports that it holds this attack off: without namespaces the supervisor is in sight."""
    if mode == NAMESPACES and isolation().has_namespaces:
        return True
    return landlock.version() > 0 and attack.aims_at != "supervisor"


def seen_by(user: str, mode: str, name: str) -> Seen:
    """What became of an attack; those of the same part of the library run with it, in one process of that user."""
    return _seen_of_part(user, mode, list(ATTACKS).index(name) // N_IN_A_PART)[name]


@functools.cache
def _seen_of_part(user: str, mode: str, part: int) -> dict[str, Seen]:
    of_part = list(ATTACKS.values())[part * N_IN_A_PART : (part + 1) * N_IN_A_PART]
    wanted = [a for a in of_part if (user == OUTSIDE_AS.get(a.name) if mode == OUTSIDE else is_claimed(a, mode))]
    text = json.dumps([{"attack": a.name, "mode": mode} for a in wanted])
    done = ordinary_user.run("tests.runtime.sandbox.world", text, timeout_s=TIMEOUT_S, drop=user == ORDINARY)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {each["attack"]: Seen(**each["seen"]) for each in lines}


@pytest.mark.parametrize("name", [a.name for a in ATTACKS.values() if is_claimed(a, NAMESPACES)])
@pytest.mark.parametrize("user", USERS)
def test_an_attack_gets_nothing(user: str, name: str) -> None:
    check(ATTACKS[name], seen_by(user, NAMESPACES, name))


@pytest.mark.parametrize("name", [a.name for a in ATTACKS.values() if is_claimed(a, LANDLOCK)])
@pytest.mark.parametrize("user", USERS)
def test_an_attack_gets_nothing_where_there_are_no_namespaces(user: str, name: str) -> None:
    check(ATTACKS[name], seen_by(user, LANDLOCK, name))


@pytest.mark.parametrize(("user", "name"), [(user, name) for name, user in OUTSIDE_AS.items()])
def test_the_same_attack_succeeds_outside_the_sandbox(user: str, name: str) -> None:
    """Shown once: it is about the program, which is the same for every user."""
    seen = seen_by(user, OUTSIDE, name)
    succeeded = "BREACH" in seen.output or seen.planted or seen.n_survivors or not seen.is_victim_well
    assert succeeded, (seen.output, seen.errors)


def check(attack: Attack, seen: Seen) -> None:
    assert "BREACH" not in seen.output, seen
    assert (seen.is_victim_well, seen.is_blob_whole, seen.n_survivors, seen.planted) == (True, True, 0, []), seen
    assert seen.end in attack.ends, seen
