# SPDX-License-Identifier: Apache-2.0
"""What strategies there are, as data: parameters with types and bounds, modes, presets. Loads no torch."""
