"""Hostile programs. Each prints BREACH when it gets what it must not have; most are shown to get it outside the sandbox.

A program sees `bait`: a dictionary of things of the platform and of another tenant (world.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mlhub.runtime.sandbox.verdicts import End

ROOT, ORDINARY = "root", "ordinary"
EVERYBODY = frozenset({ROOT, ORDINARY})
NOBODY: frozenset[str] = frozenset()
PRELUDE = """
import ctypes, errno, os, signal, socket, stat, struct, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def breach(what=""):
    print("BREACH", what, flush=True)
def call(number, *arguments):
    return libc.syscall(number, *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
def attempt(action):
    try:
        found = action()
    except (OSError, ValueError) as error:
        print("refused:", error, flush=True)
    else:
        breach(str(found)[:200])
"""


@dataclass(frozen=True)
class Attack:
    """works_outside: as whom it is shown to succeed without a sandbox; nobody, where that would do harm.

    ends: how the run ends, when that says that it was contained. aims_at: the protection that has to hold.
    """

    name: str
    code: str
    works_outside: frozenset[str] = EVERYBODY
    ends: frozenset[End] = frozenset({End.EXITED})
    aims_at: str = "files"
    says: str = ""
    timeout_s: float = 20.0
    only: frozenset[str] = field(default=EVERYBODY)

    @property
    def program(self) -> str:
        return PRELUDE + self.code


def forbidden(name: str, code: str, *, works_outside: frozenset[str] = NOBODY) -> Attack:
    """A system call that ends the program that makes it."""
    return Attack(name, code, works_outside=works_outside, ends=frozenset({End.SYSTEM_CALL}), aims_at="calls")


def refused(name: str, code: str, *, works_outside: frozenset[str] = EVERYBODY) -> Attack:
    return Attack(name, code, works_outside=works_outside, aims_at="calls")


def exhausting(name: str, code: str, *ends: End, timeout_s: float = 20.0, says: str = "") -> Attack:
    """Takes more than there is; never let loose outside."""
    return Attack(
        name, code, works_outside=NOBODY, ends=frozenset(ends), aims_at="limits", timeout_s=timeout_s, says=says
    )


FILES = (
    Attack("reads the platform's environment", "if bait['token'] in str(dict(os.environ)): breach()"),
    Attack(
        "reads the environment of every process that it sees",
        """
for name in os.listdir('/proc'):
    try:
        if name != str(os.getpid()) and bait['token'].encode() in open(f'/proc/{name}/environ', 'rb').read(): breach()
    except OSError: pass
""",
    ),
    Attack("reads the platform's secrets", "attempt(lambda: open(bait['secret']).read())"),
    Attack("reads the password hashes", "attempt(lambda: open('/etc/shadow').read())", frozenset({ROOT})),
    Attack("reads another tenant's blob", "attempt(lambda: open(bait['blob'], 'rb').read())"),
    Attack("overwrites another tenant's blob", "attempt(lambda: os.chmod(bait['blob'], 0o600) or open(bait['blob'], 'r+b'))"),
    Attack("lists the platform's folder", "attempt(lambda: os.listdir(bait['folder']))"),
    Attack("writes into the platform's folder", "attempt(lambda: open(bait['folder'] + '/planted', 'w').write('x'))"),
    Attack("follows a link out of its scratch", "os.symlink(bait['secret'], 'link'); attempt(lambda: open('link').read())"),
    Attack("writes through a link out of its scratch",
           "os.symlink(bait['folder'] + '/planted', 'link'); attempt(lambda: open('link', 'w').write('x'))"),
    Attack("makes a hard link to a secret", "attempt(lambda: os.link(bait['secret'], bait['scratch'] + '/hard-' + str(os.getpid())))"),
    Attack("climbs out by its folder's parents", "attempt(lambda: open('../' * 40 + bait['secret'].lstrip('/')).read())"),
    Attack("climbs out by another process's root",
           "attempt(lambda: open(f'/proc/{os.getppid()}/root' + bait['secret']).read())"),
    Attack("climbs out by another process's folder",
           "attempt(lambda: os.listdir(f\"/proc/{bait['victim']}/cwd\"))"),
    Attack("watches the platform's folder",
           "fd = libc.inotify_init1(0); breach() if libc.inotify_add_watch(fd, bait['folder'].encode(), 0xfff) >= 0 else print('refused')"),
    Attack("opens a disk", """
found = [n for n in os.listdir('/dev') if stat.S_ISBLK(os.stat('/dev/' + n).st_mode)] if os.path.isdir('/dev') else []
for name in found: attempt(lambda: open('/dev/' + name, 'rb').read(512))
""", NOBODY),
    Attack("changes the mode of another's file", "attempt(lambda: os.chmod(bait['blob'], 0o444))"),
    Attack("gives a file to root", "open('mine', 'w').close(); attempt(lambda: os.chown('mine', 0, 0))", frozenset({ROOT})),
    Attack("plants code among the installed packages",
           "import site; attempt(lambda: open(bait['packages'] + '/mlhub_breach.pth', 'w'))", NOBODY),
    Attack("plants code in the platform", "attempt(lambda: open(bait['project'] + '/mlhub/mlhub_breach.py', 'w'))", NOBODY),
    Attack("writes over the interpreter", "attempt(lambda: open(os.path.realpath(sys.executable), 'r+b'))", NOBODY),
    Attack("writes to system folders", "attempt(lambda: open('/usr/mlhub_breach', 'w')); attempt(lambda: open('/etc/mlhub_breach', 'w'))", NOBODY),
    Attack("writes a kernel setting", "attempt(lambda: open('/proc/sys/kernel/core_pattern', 'r+'))", frozenset({ROOT})),
    Attack("opens the kernel's emergency door", "attempt(lambda: open('/proc/sysrq-trigger', 'w'))", frozenset({ROOT})),
    Attack("changes control groups", "attempt(lambda: os.mkdir(bait['cgroup'] + '/mlhub-breach'))", NOBODY),
    Attack("forges the supervisor's report", """
for descriptor in range(3, 256):
    try: os.write(descriptor, b'{"outcome": {"status": 0, "why": ""}}\\n'); breach(descriptor)
    except OSError: pass
sys.exit(7)
""", NOBODY),
)  # fmt: skip

NETWORK = (
    Attack("connects to the database", "attempt(lambda: socket.create_connection(('127.0.0.1', bait['tcp']), 2).recv(9))", aims_at="network"),
    Attack("connects to the broker's socket",
           "s = socket.socket(socket.AF_UNIX) if 1 else 0; attempt(lambda: s.connect(bait['unix']))", aims_at="network"),
    Attack("connects to an abstract socket",
           "s = socket.socket(socket.AF_UNIX); attempt(lambda: s.connect(chr(0) + bait['abstract']))", aims_at="network"),
    Attack("sends a datagram", """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(('127.0.0.1', bait['udp'])); s.send(bait['token'].encode())
time.sleep(0.1)
try: s.send(b'again'); breach()
except OSError as error: print('refused:', error)
""", aims_at="network"),
    Attack("asks the cloud's metadata server", "attempt(lambda: socket.create_connection(('169.254.169.254', 80), 1))", NOBODY, aims_at="network"),
    Attack("reaches the internet", "attempt(lambda: socket.create_connection(('1.1.1.1', 53), 1))", NOBODY, aims_at="network"),
    Attack("sniffs packets", "attempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3))", frozenset({ROOT}), aims_at="network"),
    Attack("makes a raw socket", "attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))", frozenset({ROOT}), aims_at="network"),
    Attack("uses the kernel's ciphers", "attempt(lambda: socket.socket(38, socket.SOCK_SEQPACKET, 0))", NOBODY, aims_at="network"),
    Attack("speaks to the host of a virtual machine", "attempt(lambda: socket.socket(40, socket.SOCK_STREAM))", NOBODY, aims_at="network"),
    Attack("speaks to the audit system", "attempt(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9))", aims_at="network"),
)  # fmt: skip

PROCESSES = (
    Attack("kills a process of the platform", "attempt(lambda: os.kill(bait['victim'], 9))", aims_at="processes"),
    Attack("stops a process of the platform", "attempt(lambda: os.kill(bait['victim'], signal.SIGSTOP))", aims_at="processes"),
    Attack("kills its supervisor", "os.kill(os.getppid(), 9); time.sleep(0.3); breach() if os.getppid() != bait.get('parent', 1) else 0",
           NOBODY, aims_at="supervisor"),
    Attack("kills everything", "os.getpid() < 10 and os.kill(-1, 9); sys.exit(7)", NOBODY, aims_at="supervisor"),
    Attack("reads its supervisor's memory", "attempt(lambda: open(f'/proc/{os.getppid()}/mem', 'rb').read(1))", NOBODY, aims_at="supervisor"),
    Attack("leaves a daemon behind", """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(60)', bait['mark']])
    os._exit(0)
time.sleep(0.3)
""", aims_at="survivors"),
    Attack("leaves a daemon that ignores every signal", """
if os.fork() == 0:
    os.setsid()
    for number in range(1, 32):
        if number not in (9, 19): signal.signal(number, signal.SIG_IGN)
    libc.prctl(36, 1, 0, 0, 0)
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(60)', bait['mark']])
    time.sleep(60)
time.sleep(0.3)
""", aims_at="survivors"),
    Attack("becomes root", "os.setuid(0); open('/etc/shadow'); breach()", NOBODY, frozenset({End.EXITED}), aims_at="privileges"),
    Attack("takes real-time priority", "attempt(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)))",
           frozenset({ROOT}), aims_at="privileges"),
    Attack("makes itself more important", "attempt(lambda: os.setpriority(os.PRIO_PROCESS, 0, -10))", frozenset({ROOT}), aims_at="privileges"),
    Attack("escapes the kernel's choice of victims",
           "attempt(lambda: open('/proc/self/oom_score_adj', 'w').write('-500'))", frozenset({ROOT}), aims_at="privileges"),
    Attack("raises its own limits", """
import resource
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
attempt(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (hard + 1, hard + 1)))
""", frozenset({ROOT}), aims_at="privileges"),
    Attack("starts a program that belongs to root with its rights", """
told = subprocess.run(['/usr/bin/grep', 'NoNewPrivs', '/proc/self/status'], capture_output=True, text=True).stdout
breach(told) if told.split()[-1:] == ['0'] else print(told)
""", aims_at="privileges"),
)  # fmt: skip

CALLS = (
    forbidden("traces a process", "print(libc.ptrace(16, bait['victim'], 0, 0)); breach()"),
    forbidden("reads another process's memory", "call(310, bait['victim'], 0, 0, 0, 0, 0); breach()", works_outside=EVERYBODY),
    forbidden("writes another process's memory", "call(311, bait['victim'], 0, 0, 0, 0, 0); breach()", works_outside=EVERYBODY),
    forbidden("takes another process's files", "call(438, 0, 0, 0); breach()", works_outside=EVERYBODY),
    forbidden("mounts a file system", "libc.mount(b'x', b'/nonexistent', b'tmpfs', 0, None); breach()", works_outside=EVERYBODY),
    forbidden("makes a user namespace", "libc.unshare(0x10000000); breach()", works_outside=EVERYBODY),
    forbidden("clones into a user namespace", """
pid = call(56, 0x10000000 | 17, 0, 0, 0, 0)
if pid == 0: os._exit(0)
breach()
""", works_outside=EVERYBODY),
    forbidden("enters a namespace", "libc.setns(0, 0); breach()", works_outside=EVERYBODY),
    forbidden("loads a kernel program", "call(321, 0, 0, 0); breach()", works_outside=EVERYBODY),
    forbidden("loads a kernel module", "call(175, 0, 0, 0); breach()", works_outside=EVERYBODY),
    forbidden("loads another kernel", "call(320, -1, -1, 0, 0, 0); breach()", works_outside=EVERYBODY),
    forbidden("reads keys of the kernel's keyring", "call(250, 0, -3, 0); breach()", works_outside=EVERYBODY),
    forbidden("opens a file by its handle", "call(304, -1, 0, 0); breach()", works_outside=EVERYBODY),
    forbidden("replaces the root folder", "call(155, b'/nonexistent', b'/nonexistent'); breach()", works_outside=EVERYBODY),
    forbidden("restarts the machine", "call(169, 0, 0, 0, 0); breach()"),
    forbidden("renames the machine", "libc.sethostname(b'', -1); breach()", works_outside=EVERYBODY),
    forbidden("calls the kernel as a 32-bit program", """
import mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes([0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0xC3]))
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))(); breach()
"""),
    forbidden("calls the kernel by the x32 convention", "call(0x40000000 + 39); breach()"),
    refused("makes an io_uring", "p = ctypes.create_string_buffer(256); breach() if call(425, 4, p) >= 0 else print('refused')"),
    refused("makes a userfaultfd", "breach() if call(323, 1) >= 0 else print('refused')"),
    refused("counts the kernel's events",
            "p = ctypes.create_string_buffer(struct.pack('IIQ', 1, 128, 0), 128); breach() if call(298, p, 0, -1, -1, 0) >= 0 else print('refused')",
            works_outside=NOBODY),
    refused("runs a program from memory", """
fd = os.memfd_create('x')
with open('/bin/echo', 'rb') as file: os.write(fd, file.read())
os.execve(fd, ['echo', 'BREACH'], {})
"""),
    refused("makes a device", "attempt(lambda: os.mknod('disk', stat.S_IFBLK | 0o600, os.makedev(254, 0)))", works_outside=frozenset({ROOT})),
    refused("changes its root folder", "attempt(lambda: os.chroot('/usr'))", works_outside=frozenset({ROOT})),
    refused("takes shared memory that counts for nobody", "breach() if libc.shmget(0, 4096, 0o1600) >= 0 else print('refused')"),
)  # fmt: skip

LIMITS = (
    exhausting("forks without end", """
while True:
    try: os.fork()
    except OSError: pass
""", End.TIME, End.PROCESSES, timeout_s=2.0),
    exhausting("forks until it cannot", "while True:\n    if os.fork() == 0: time.sleep(30); os._exit(0)", End.PROCESSES),
    exhausting("starts threads until it cannot",
               "import threading\nwhile True: threading.Thread(target=time.sleep, args=(30,), daemon=True).start()", End.PROCESSES),
    exhausting("takes all memory", "held = []\nwhile True: held.append(bytearray(2**24))", End.MEMORY),
    exhausting("takes all memory in many processes", """
for _ in range(16):
    if os.fork() == 0:
        held = bytearray(b'x') * (100 * 2**20)
        time.sleep(30)
time.sleep(30)
""", End.MEMORY),
    exhausting("takes all memory by a shared mapping", """
import mmap
held = mmap.mmap(-1, 2**32)
while True: held.write(bytes(2**20) .replace(b'\\0', b'x'))
""", End.MEMORY),
    exhausting("fills the disk", """
number = 0
while True:
    number += 1
    with open(f'f{number}', 'wb') as file: file.write(b'x' * 2**22)
""", End.DISK),
    exhausting("fills the shared memory folder", """
try:
    with open('/dev/shm/x', 'wb') as file:
        for _ in range(2**12): file.write(b'x' * 2**20)
except OSError as error: print('refused:', error); sys.exit(0)
breach()
""", End.EXITED),
    exhausting("makes an endless file", "file = open('x', 'wb'); attempt(lambda: os.ftruncate(file.fileno(), 2**50))", End.EXITED),
    exhausting("opens files without end", """
held = []
try:
    while len(held) < 5000: held.append(open('/dev/null'))
except OSError as error: print('refused:', error); sys.exit(0)
breach()
""", End.EXITED),
    exhausting("never ends", "while True: pass", End.TIME, timeout_s=0.5),
    exhausting("never ends and ignores what ends it", """
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True: time.sleep(1)
""", End.TIME, timeout_s=0.5),
    exhausting("hangs as it leaves", "import atexit; atexit.register(time.sleep, 60)", End.TIME, timeout_s=0.5),
    exhausting("prints without end", "while True: sys.stdout.write('x' * 2**20)", End.TIME, timeout_s=1.0),
    exhausting("nests calls until its stack is full", "sys.setrecursionlimit(10**9)\ndef f(): return f.__call__()\nlist(map(f, [])); f()",
               End.SIGNAL, End.MEMORY, End.EXITED, timeout_s=20.0),
    exhausting("claims to be out of memory by killing itself", "os.kill(os.getpid(), 9)", End.SIGNAL),
    exhausting("aborts", "os.abort()", End.SIGNAL),
)  # fmt: skip

ATTACKS = {attack.name: attack for attack in (*FILES, *NETWORK, *PROCESSES, *CALLS, *LIMITS)}
