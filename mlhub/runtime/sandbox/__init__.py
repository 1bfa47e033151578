# SPDX-License-Identifier: Apache-2.0
"""The sandbox: runs code of strangers where it can read, reach and leave behind nothing but what it was given.

execution.py is the door: execute() starts a program and returns how it ended. runner.py carries that out, and
capabilities.py finds by trying what works on this machine. init.py is the process between the platform and the program;
it, kernel.py, landlock.py, filesystem.py and supervision.py use the standard library only, and nothing else imports
them. syscall_filter.py compiles the seccomp filter, cgroups.py limits memory and processes, users.py gives each run a
user id, gang_network/ is the only way out of a gang of pods, egress/ that of a program that may reach named hosts, as
the build of packages does, verdicts.py reports how a run ended.
The design and its alternatives: docs/decisions/sandbox.md; what is contained: docs/guides/threat-model.md.
"""
