# SPDX-License-Identifier: Apache-2.0
"""Append-only events, published to browsers and to the control loop once they are committed."""
