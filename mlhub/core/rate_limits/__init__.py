# SPDX-License-Identifier: Apache-2.0
"""How many requests one user, token, organisation or address may send: limits, counters, and the answers' headers."""
