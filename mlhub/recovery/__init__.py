# SPDX-License-Identifier: Apache-2.0
"""Backup and restore of a platform: its database, the blobs that it refers to, its keys, and checkpoints.

archive.py: the file. databases.py: dumps, scratch databases, and the swap. backups.py and restores.py: the two
commands. epochs.py: what a restored database must change before it is used. See docs/guides/backup.md.
"""
