# SPDX-License-Identifier: Apache-2.0
"""Other libraries doing what MLHub's runtime does, for comparison: each file is a program, or says how to run one."""
