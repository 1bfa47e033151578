# SPDX-License-Identifier: Apache-2.0
"""Signing in, and what it takes: passwords, second factors, passkeys, identities at a provider, sessions."""
