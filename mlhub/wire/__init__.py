# SPDX-License-Identifier: Apache-2.0
"""The words that both sides of a pod speak: launch specifications, environment names, reports, exit codes.

Standard library only; everything here is versioned and travels as JSON. Imports nothing of MLHub.
"""
