# SPDX-License-Identifier: Apache-2.0
"""The worker's side of the parameter server: push, pull, reconnection, bounded delay."""
