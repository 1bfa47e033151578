# SPDX-License-Identifier: Apache-2.0
"""Keys and what they protect: the installation's key, encrypted values, addresses that may be called."""
