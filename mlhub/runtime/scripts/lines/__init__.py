# SPDX-License-Identifier: Apache-2.0
"""Lines that scripts print, as metrics: those of frameworks, and those that people write."""
