# SPDX-License-Identifier: Apache-2.0
"""What several strategies use; no strategy of its own."""
