# SPDX-License-Identifier: Apache-2.0
"""What a process forked from one that has used torch can rely on."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

FORKS = """
import os, sys, threading
import torch
from mlhub.runtime.roles.server_setup import renew_threads

torch.set_num_threads(2)
numbers = torch.ones(1_000_000)
torch.topk(numbers, 5)
sys.setswitchinterval(1e-6)
n_failed = 0
for _ in range(15):
    child = os.fork()
    if not child:
        renew_threads()
        failures, go = [], threading.Event()

        def use():
            go.wait()
            try:
                torch.topk(numbers, 5)
            except RuntimeError as error:
                failures.append(error)

        threads = [threading.Thread(target=use) for _ in range(6)]
        for thread in threads:
            thread.start()
        go.set()
        for thread in threads:
            thread.join()
        os._exit(1 if failures else 0)
    n_failed += os.waitpid(child, 0)[1] != 0
print(n_failed)
"""


def test_many_threads_of_a_fork_may_begin_with_torch_at_once() -> None:
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, check=True, timeout=600)
    assert done.stdout.strip() == "0"
