# SPDX-License-Identifier: Apache-2.0
"""What MLHub makes on a cluster, as data. Pure: gangs, containers, GPU claims, namespaces, sandbox Jobs."""
