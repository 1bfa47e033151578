# SPDX-License-Identifier: Apache-2.0
"""DL2: a trained network that gives GPUs away step by step."""
