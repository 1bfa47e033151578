# SPDX-License-Identifier: Apache-2.0
"""The inventory as last observed: nodes and racks."""
