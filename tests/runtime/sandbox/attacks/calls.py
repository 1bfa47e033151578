# SPDX-License-Identifier: Apache-2.0
"""System calls that no training code has a use for; their numbers are those of x86-64."""

from __future__ import annotations

from tests.runtime.sandbox.attacks.attack import EVERYBODY, NOBODY, ROOT, forbidden, refused

CALLS = (
    forbidden("traces a process", "print(libc.ptrace(16, bait['victim'], 0, 0)); breach()"),
    forbidden(
        "reads another process's memory", "call(310, bait['victim'], 0, 0, 0, 0, 0); breach()", works_outside=EVERYBODY
    ),
    forbidden(
        "writes another process's memory", "call(311, bait['victim'], 0, 0, 0, 0, 0); breach()", works_outside=EVERYBODY
    ),
    forbidden("takes another process's files", "call(438, 0, 0, 0); breach()", works_outside=EVERYBODY),
    forbidden(
        "mounts a file system",
        "libc.mount(b'x', b'/nonexistent', b'tmpfs', 0, None); breach()",
        works_outside=EVERYBODY,
    ),
    forbidden("makes a user namespace", "libc.unshare(0x10000000); breach()", works_outside=EVERYBODY),
    forbidden(
        "clones into a user namespace",
        """
pid = call(56, 0x10000000 | 17, 0, 0, 0, 0)
if pid == 0: os._exit(0)
breach()
""",
        works_outside=EVERYBODY,
    ),
    forbidden("enters a namespace", "libc.setns(0, 0); breach()", works_outside=EVERYBODY),
    forbidden("loads a kernel program", "call(321, 0, 0, 0); breach()", works_outside=EVERYBODY),
    forbidden("loads a kernel module", "call(175, 0, 0, 0); breach()", works_outside=EVERYBODY),
    forbidden("loads another kernel", "call(320, -1, -1, 0, 0, 0); breach()", works_outside=EVERYBODY),
    forbidden("reads keys of the kernel's keyring", "call(250, 0, -3, 0); breach()", works_outside=EVERYBODY),
    forbidden("opens a file by its handle", "call(304, -1, 0, 0); breach()", works_outside=EVERYBODY),
    forbidden(
        "replaces the root folder", "call(155, b'/nonexistent', b'/nonexistent'); breach()", works_outside=EVERYBODY
    ),
    forbidden("restarts the machine", "call(169, 0, 0, 0, 0); breach()"),
    forbidden("renames the machine", "libc.sethostname(b'', -1); breach()", works_outside=EVERYBODY),
    forbidden(
        "calls the kernel as a 32-bit program",
        """
import mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes([0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0xC3]))
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))(); breach()
""",
    ),
    forbidden("calls the kernel by the x32 convention", "call(0x40000000 + 39); breach()"),
    refused(
        "makes an io_uring",
        "p = ctypes.create_string_buffer(256); breach() if call(425, 4, p) >= 0 else print('refused')",
    ),
    refused("makes a userfaultfd", "breach() if call(323, 1) >= 0 else print('refused')"),
    refused(
        "counts the kernel's events",
        """
attributes = ctypes.create_string_buffer(struct.pack('IIQ', 1, 128, 0), 128)
breach() if call(298, attributes, 0, -1, -1, 0) >= 0 else print('refused')
""",
        works_outside=NOBODY,
    ),
    refused(
        "runs a program from memory",
        """
fd = os.memfd_create('x')
with open('/bin/echo', 'rb') as file: os.write(fd, file.read())
os.execve(fd, ['echo', 'BREACH'], {})
""",
    ),
    refused(
        "makes a device",
        "attempt(lambda: os.mknod('disk', stat.S_IFBLK | 0o600, os.makedev(254, 0)))",
        works_outside=frozenset({ROOT}),
    ),
    refused("changes its root folder", "attempt(lambda: os.chroot('/usr'))", works_outside=frozenset({ROOT})),
    refused(
        "takes shared memory that counts for nobody",
        "breach() if libc.shmget(0, 4096, 0o1600) >= 0 else print('refused')",
    ),
)
