# SPDX-License-Identifier: Apache-2.0
"""Other libraries that do what MLHub's runtime does, to compare: each file is a program, or shows how to run one."""
