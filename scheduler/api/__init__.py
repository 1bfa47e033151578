# SPDX-License-Identifier: Apache-2.0
"""The types of the scheduler's interface: a snapshot goes in, a plan comes out, a memory goes from round to round."""
