# SPDX-License-Identifier: Apache-2.0
"""Between workers and parameter servers: messages and their bytes, handshake, sockets, TLS, shared memory."""
