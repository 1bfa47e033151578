# SPDX-License-Identifier: Apache-2.0
"""The default policy: elastic sizes, prices and packing."""
