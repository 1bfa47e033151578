# SPDX-License-Identifier: Apache-2.0
"""Commands about jobs and what they train: run, watch, compare, fork, search, use."""
