# SPDX-License-Identifier: Apache-2.0
"""Attacks that take more than there is; never let loose outside."""

from __future__ import annotations

from mlhub.runtime.sandbox.verdicts import End
from tests.runtime.sandbox.attacks.attack import exhausting

LIMITS = (
    exhausting(
        "forks without end",
        """
while True:
    try: os.fork()
    except OSError: pass
""",
        End.TIME,
        End.PROCESSES,
        timeout_s=1.0,
    ),
    exhausting(
        "forks until it cannot", "while True:\n    if os.fork() == 0: time.sleep(30); os._exit(0)", End.PROCESSES
    ),
    exhausting(
        "starts threads until it cannot",
        "import threading\nwhile True: threading.Thread(target=time.sleep, args=(30,), daemon=True).start()",
        End.PROCESSES,
    ),
    exhausting("takes all memory", "held = []\nwhile True: held.append(bytearray(2**24))", End.MEMORY),
    exhausting(
        "takes all memory in many processes",
        """
for _ in range(16):
    if os.fork() == 0:
        held = bytearray(b'x') * (100 * 2**20)
        time.sleep(30)
time.sleep(30)
""",
        End.MEMORY,
    ),
    exhausting(
        "takes all memory by a shared mapping",
        """
import mmap
held = mmap.mmap(-1, 2**32)
while True: held.write(bytes(2**20) .replace(b'\\0', b'x'))
""",
        End.MEMORY,
    ),
    exhausting(
        "fills the disk",
        """
number = 0
while True:
    number += 1
    with open(f'f{number}', 'wb') as file: file.write(b'x' * 2**22)
""",
        End.DISK,
    ),
    exhausting(
        "fills the shared memory folder",
        """
try:
    with open('/dev/shm/x', 'wb') as file:
        for _ in range(2**12): file.write(b'x' * 2**20)
except OSError as error: print('refused:', error); sys.exit(0)
breach()
""",
        End.EXITED,
    ),
    exhausting(
        "makes an endless file",
        "file = open('x', 'wb'); attempt(lambda: os.ftruncate(file.fileno(), 2**50))",
        End.EXITED,
    ),
    exhausting(
        "opens files without end",
        """
held = []
try:
    while len(held) < 5000: held.append(open('/dev/null'))
except OSError as error: print('refused:', error); sys.exit(0)
breach()
""",
        End.EXITED,
    ),
    exhausting("never ends", "while True: pass", End.TIME, timeout_s=0.5),
    exhausting(
        "never ends and ignores what ends it",
        """
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True: time.sleep(1)
""",
        End.TIME,
        timeout_s=0.5,
    ),
    exhausting("hangs as it leaves", "import atexit; atexit.register(time.sleep, 60)", End.TIME, timeout_s=0.5),
    exhausting("prints without end", "while True: sys.stdout.write('x' * 2**20)", End.TIME, timeout_s=0.5),
    exhausting(
        "nests calls until its stack is full",
        "sys.setrecursionlimit(10**9)\ndef f(): return f.__call__()\nlist(map(f, [])); f()",
        End.SIGNAL,
        End.MEMORY,
        End.EXITED,
        timeout_s=20.0,
    ),
    exhausting("claims to be out of memory by killing itself", "os.kill(os.getpid(), 9)", End.SIGNAL, End.EXITED),
    exhausting("aborts", "os.abort()", End.SIGNAL),
)
