# SPDX-License-Identifier: Apache-2.0
"""Attacks on processes: the platform's, the sandbox's own supervisor; and on the limits of its rights."""

from __future__ import annotations

from mlhub.runtime.sandbox.verdicts import End
from tests.runtime.sandbox.attacks.attack import NOBODY, ROOT, Attack

PROCESSES = (
    Attack("kills a process of the platform", "attempt(lambda: os.kill(bait['victim'], 9))", aims_at="processes"),
    Attack(
        "stops a process of the platform",
        "attempt(lambda: os.kill(bait['victim'], signal.SIGSTOP))",
        aims_at="processes",
    ),
    Attack(
        "kills its supervisor",
        "os.kill(os.getppid(), 9); time.sleep(0.3); breach() if os.getppid() != bait.get('parent', 1) else 0",
        NOBODY,
        aims_at="supervisor",
    ),
    Attack("kills everything", "os.getpid() < 10 and os.kill(-1, 9); sys.exit(7)", NOBODY, aims_at="supervisor"),
    Attack(
        "reads its supervisor's memory",
        "attempt(lambda: open(f'/proc/{os.getppid()}/mem', 'rb').read(1))",
        NOBODY,
        aims_at="supervisor",
    ),
    Attack(
        "writes its supervisor's memory",
        "attempt(lambda: os.open(f'/proc/{os.getppid()}/mem', os.O_RDWR))",
        NOBODY,
        aims_at="supervisor",
    ),
    Attack(
        "makes the platform the kernel's first victim",
        "attempt(lambda: os.write(os.open(f\"/proc/{bait['victim']}/oom_score_adj\", os.O_WRONLY), b'1000'))",
    ),
    Attack(
        "takes its supervisor's limits away",
        "import resource; attempt(lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1)))",
        aims_at="privileges",
    ),
    Attack(
        "leaves a daemon behind",
        """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(60)', bait['mark']])
    os._exit(0)
time.sleep(0.3)
""",
        aims_at="survivors",
    ),
    Attack(
        "leaves a daemon that ignores every signal",
        """
if os.fork() == 0:
    os.setsid()
    for number in range(1, 32):
        if number not in (9, 19): signal.signal(number, signal.SIG_IGN)
    libc.prctl(36, 1, 0, 0, 0)
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(60)', bait['mark']])
    time.sleep(60)
time.sleep(0.3)
""",
        aims_at="survivors",
    ),
    Attack(
        "becomes root",
        "os.setuid(0); open('/etc/shadow'); breach()",
        NOBODY,
        frozenset({End.EXITED}),
        aims_at="privileges",
    ),
    Attack(
        "takes real-time priority",
        "attempt(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)))",
        frozenset({ROOT}),
        aims_at="privileges",
    ),
    Attack(
        "makes itself more important",
        "attempt(lambda: os.setpriority(os.PRIO_PROCESS, 0, -10))",
        frozenset({ROOT}),
        aims_at="privileges",
    ),
    Attack(
        "escapes the kernel's choice of victims",
        "attempt(lambda: os.write(os.open('/proc/self/oom_score_adj', os.O_WRONLY), b'0'))",
        frozenset({ROOT}),
        aims_at="privileges",
    ),
    Attack(
        "raises its own limits",
        """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
attempt(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128)))
""",
        NOBODY,
        aims_at="privileges",
    ),
    Attack(
        "starts a program that belongs to root with its rights",
        """
printed = subprocess.run(['/usr/bin/grep', 'NoNewPrivs', '/proc/self/status'], capture_output=True, text=True).stdout
breach(printed) if printed.split()[-1:] == ['0'] else print(printed)
""",
        aims_at="privileges",
    ),
)
