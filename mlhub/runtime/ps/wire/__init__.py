# SPDX-License-Identifier: Apache-2.0
"""Bytes between workers and parameter servers: frames, handshake, sockets, TLS, shared memory."""
