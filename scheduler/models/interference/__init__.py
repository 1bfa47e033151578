# SPDX-License-Identifier: Apache-2.0
"""Jobs that share a GPU: how fast each runs, learnt from measured pairs."""
