# SPDX-License-Identifier: Apache-2.0
"""Tests of what `pip install .` gives: the wheel, its parts, and that each part stands without the others."""
