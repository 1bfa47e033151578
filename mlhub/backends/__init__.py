# SPDX-License-Identifier: Apache-2.0
"""Moves processes: five verbs (protocol.py), several implementations. No Django, no queues, no quota, no scheduler."""
