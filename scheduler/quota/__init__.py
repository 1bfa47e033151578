# SPDX-License-Identifier: Apache-2.0
"""Who may use how much: the ledger of limits, guarantees, borrowing, fair sharing, reclaim. Knows no policy."""
