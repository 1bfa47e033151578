# SPDX-License-Identifier: Apache-2.0
"""Strategies in which each worker exchanges weights with few peers."""
