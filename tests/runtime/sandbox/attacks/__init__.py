# SPDX-License-Identifier: Apache-2.0
"""The library of hostile programs, by name."""

import platform

from tests.runtime.sandbox.attacks.attack import ORDINARY, ROOT, Attack
from tests.runtime.sandbox.attacks.calls import CALLS
from tests.runtime.sandbox.attacks.files import FILES
from tests.runtime.sandbox.attacks.limits import LIMITS
from tests.runtime.sandbox.attacks.network import NETWORK
from tests.runtime.sandbox.attacks.processes import PROCESSES

__all__ = ["ATTACKS", "ORDINARY", "ROOT", "Attack"]

_CALLS = CALLS if platform.machine() == "x86_64" else ()
ATTACKS = {attack.name: attack for attack in (*FILES, *NETWORK, *PROCESSES, *_CALLS, *LIMITS)}
