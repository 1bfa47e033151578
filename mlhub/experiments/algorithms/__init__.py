# SPDX-License-Identifier: Apache-2.0
"""What to try next, decided from recorded results alone: pure functions without database, clock or global state."""
