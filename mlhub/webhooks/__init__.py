# SPDX-License-Identifier: Apache-2.0
"""Webhooks: addresses of organisations that are notified of events, signed, at least once."""
