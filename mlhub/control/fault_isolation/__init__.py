# SPDX-License-Identifier: Apache-2.0
"""What keeps a round going: what cannot be read or decided on is left out, recorded and shown."""
