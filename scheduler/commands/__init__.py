# SPDX-License-Identifier: Apache-2.0
"""The commands of python -m scheduler, one file each; the only room of scheduler/ that touches the disk.

Each file has add(commands), which adds its parser, with the function that carries it out as its command. The list is
in scheduler/__main__.py: this package imports none of them, since the platform's processes use a module of it and would
load the simulator, too. What several commands read or write is in files.py and options.py.
"""
