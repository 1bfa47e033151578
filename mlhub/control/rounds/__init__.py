# SPDX-License-Identifier: Apache-2.0
"""Scheduling rounds: the loop, the snapshot it decides on, the plan carried out, and what people read of it."""
