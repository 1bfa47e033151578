# SPDX-License-Identifier: Apache-2.0
"""The demo: two people of two organisations train three models, through the public REST API only."""
