# SPDX-License-Identifier: Apache-2.0
"""The way to notebooks: a proxy at an address of their own, which asks for session and right at every request."""
