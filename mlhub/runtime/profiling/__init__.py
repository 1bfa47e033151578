# SPDX-License-Identifier: Apache-2.0
"""Recording torch's profiler for some steps of a training that runs, and what becomes of the trace.

A parameter server records what its threads do.
"""
