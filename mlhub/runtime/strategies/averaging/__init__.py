# SPDX-License-Identifier: Apache-2.0
"""Strategies in which replicas train separately and are averaged from time to time."""
