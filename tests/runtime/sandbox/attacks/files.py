# SPDX-License-Identifier: Apache-2.0
"""Attacks on files: secrets, other tenants' data, the platform's own code, the kernel's settings."""

from __future__ import annotations

from tests.runtime.sandbox.attacks.attack import NOBODY, ROOT, Attack

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
    Attack(
        "overwrites another tenant's blob",
        "attempt(lambda: os.chmod(bait['blob'], 0o600) or open(bait['blob'], 'r+b'))",
    ),
    Attack("lists the platform's folder", "attempt(lambda: os.listdir(bait['folder']))"),
    Attack("writes into the platform's folder", "attempt(lambda: open(bait['folder'] + '/planted', 'w').write('x'))"),
    Attack(
        "follows a link out of its scratch", "os.symlink(bait['secret'], 'link'); attempt(lambda: open('link').read())"
    ),
    Attack(
        "writes through a link out of its scratch",
        "os.symlink(bait['folder'] + '/planted', 'link'); attempt(lambda: open('link', 'w').write('x'))",
    ),
    Attack(
        "makes a hard link to a secret",
        "attempt(lambda: os.link(bait['secret'], bait['scratch'] + '/hard-' + str(os.getpid())))",
    ),
    Attack(
        "climbs out by its folder's parents", "attempt(lambda: open('../' * 40 + bait['secret'].lstrip('/')).read())"
    ),
    Attack(
        "climbs out by another process's root",
        "attempt(lambda: open(f'/proc/{os.getppid()}/root' + bait['secret']).read())",
    ),
    Attack("climbs out by another process's folder", "attempt(lambda: os.listdir(f\"/proc/{bait['victim']}/cwd\"))"),
    Attack(
        "watches the platform's folder",
        """
watches = libc.inotify_init1(0)
breach() if libc.inotify_add_watch(watches, bait['folder'].encode(), 0xfff) >= 0 else print('refused')
""",
    ),
    Attack(
        "opens a disk",
        """
found = [n for n in os.listdir('/dev') if stat.S_ISBLK(os.stat('/dev/' + n).st_mode)] if os.path.isdir('/dev') else []
for name in found: attempt(lambda: open('/dev/' + name, 'rb').read(512))
""",
        NOBODY,
    ),
    Attack("changes the mode of another's file", "attempt(lambda: os.chmod(bait['blob'], 0o444))"),
    Attack(
        "gives a file to root", "open('mine', 'w').close(); attempt(lambda: os.chown('mine', 0, 0))", frozenset({ROOT})
    ),
    Attack(
        "plants code among the installed packages",
        "import site; attempt(lambda: open(bait['packages'] + '/mlhub_breach.pth', 'w'))",
        NOBODY,
    ),
    Attack(
        "plants code in the platform", "attempt(lambda: open(bait['project'] + '/mlhub/mlhub_breach.py', 'w'))", NOBODY
    ),
    Attack("writes over the interpreter", "attempt(lambda: open(os.path.realpath(sys.executable), 'r+b'))", NOBODY),
    Attack(
        "writes to system folders",
        "attempt(lambda: open('/usr/mlhub_breach', 'w')); attempt(lambda: open('/etc/mlhub_breach', 'w'))",
        NOBODY,
    ),
    Attack(
        "writes a kernel setting", "attempt(lambda: open('/proc/sys/kernel/core_pattern', 'r+'))", frozenset({ROOT})
    ),
    Attack("opens the kernel's emergency door", "attempt(lambda: open('/proc/sysrq-trigger', 'w'))", NOBODY),
    Attack("changes control groups", "attempt(lambda: os.mkdir(bait['cgroup'] + '/mlhub-breach'))", NOBODY),
    Attack(
        "forges the supervisor's report",
        """
for descriptor in range(3, 256):
    try: os.write(descriptor, b'{"outcome": {"status": 0, "why": ""}}\\n'); breach(descriptor)
    except OSError: pass
sys.exit(7)
""",
        NOBODY,
    ),
)
