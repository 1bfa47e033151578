# SPDX-License-Identifier: Apache-2.0
"""The only way out of a sandbox that may reach named hosts: a proxy outside of its network. Standard library only."""
