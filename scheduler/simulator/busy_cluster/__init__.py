# SPDX-License-Identifier: Apache-2.0
"""A busy cluster that never comes to rest, made by seed: what rounds are measured on."""
