# SPDX-License-Identifier: Apache-2.0
"""The network of a gang on one machine, and the relay that is its only way out. Standard library only."""
