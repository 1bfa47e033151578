# SPDX-License-Identifier: Apache-2.0
"""Puts gangs onto nodes, all or nothing. Knows free resources and topology, no policy and no quota."""
