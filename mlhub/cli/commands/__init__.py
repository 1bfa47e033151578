# SPDX-License-Identifier: Apache-2.0
"""The commands, by what they are about."""
