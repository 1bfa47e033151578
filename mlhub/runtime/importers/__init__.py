# SPDX-License-Identifier: Apache-2.0
"""Models made elsewhere, read into torch modules with their weights: one reader a format, a graph that they share.

Runs where user code runs, in the sandbox and in pods. No pickle. The guide: docs/guides/bring-your-model.md.
"""
