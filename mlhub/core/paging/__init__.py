# SPDX-License-Identifier: Apache-2.0
"""Lists in pages: cursors that are stable under inserts."""
