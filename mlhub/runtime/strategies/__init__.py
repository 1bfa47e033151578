# SPDX-License-Identifier: Apache-2.0
"""Strategies: how workers make one model. catalogue/ declares them without torch; registry.py imports one."""
