# SPDX-License-Identifier: Apache-2.0
"""From what the cluster shows to the protocol's words: gangs, nodes, why pods do not start or how they ended."""
