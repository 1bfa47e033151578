# SPDX-License-Identifier: Apache-2.0
# Written by `make client` from the schema: do not edit.
"""The types and operations of the API."""
