# SPDX-License-Identifier: Apache-2.0
"""Trained models as folders that predict elsewhere, with torch and NumPy: their content, and the zip."""
