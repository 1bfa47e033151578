# SPDX-License-Identifier: Apache-2.0
"""What pods report: metric points, log lines, progress, checkpoints; stored once, streamed live."""
