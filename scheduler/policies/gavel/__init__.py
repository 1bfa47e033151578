# SPDX-License-Identifier: Apache-2.0
"""Gavel: time shares of GPU types by linear programs, kept by rounds."""
