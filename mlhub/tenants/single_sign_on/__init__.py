# SPDX-License-Identifier: Apache-2.0
"""OpenID Connect as a client: what the provider is asked and what of its answers counts. Accounts are actions/'s."""
