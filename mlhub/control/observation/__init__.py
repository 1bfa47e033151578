# SPDX-License-Identifier: Apache-2.0
"""What the backend shows, written down: gangs, nodes, stalls, notebooks in which nothing is done, sandbox runs."""
