# SPDX-License-Identifier: Apache-2.0
"""The command line: an MLHub from a terminal, over its REST API; and `up` and its like, on this machine."""
