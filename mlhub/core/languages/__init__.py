# SPDX-License-Identifier: Apache-2.0
"""What the platform says, in the language that a request asks for: the catalogue, the negotiation, and reasons."""
