# SPDX-License-Identifier: Apache-2.0
"""Readers and writers of traces and clusters, and made-up days."""
