# SPDX-License-Identifier: Apache-2.0
"""Writes to what may be used: quotas, boosts, requests for quota, limits of users."""
