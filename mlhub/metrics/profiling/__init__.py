# SPDX-License-Identifier: Apache-2.0
"""Recordings of torch's profiler: asked for, reported, bounded."""
