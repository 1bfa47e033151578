# SPDX-License-Identifier: Apache-2.0
"""What other apps may listen to."""

from django.dispatch import Signal

attempt_closed = Signal()
"""Sent in the transaction that ends an attempt and releases its GPUs. Arguments: attempt_id."""
