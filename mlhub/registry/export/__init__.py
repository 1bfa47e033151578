# SPDX-License-Identifier: Apache-2.0
"""Trained models as folders that predict elsewhere, with torch alone: their content, and the zip."""
