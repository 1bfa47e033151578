# SPDX-License-Identifier: Apache-2.0
"""Traffic on links: what a synchronisation sends, and how flows share a link."""
