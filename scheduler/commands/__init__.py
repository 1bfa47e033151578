# SPDX-License-Identifier: Apache-2.0
"""The commands of python -m scheduler, one file each; the only room of scheduler/ that touches the disk.

Each file has add(commands), which adds its parser, with the function that carries it out as its command. The tuple
below is the whole list. What several of them read or write is in files.py and options.py.
"""

from scheduler.commands import bench, compare, explain, interference, replay, simulate, trace

COMMANDS = (simulate, compare, trace, replay, explain, interference, bench)
