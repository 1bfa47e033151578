# SPDX-License-Identifier: Apache-2.0
"""WebAuthn as a relying party: what browsers are asked and what of their answers counts. Accounts are actions/'s."""
