# SPDX-License-Identifier: Apache-2.0
"""What several policies use; no policy of its own."""
