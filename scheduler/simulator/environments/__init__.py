# SPDX-License-Identifier: Apache-2.0
"""The hidden truth of a simulation: true speeds and lengths. The scheduler sees only snapshots. One file each."""
