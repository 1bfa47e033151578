"""Bytes between workers and parameter servers: frames, handshake, sockets, TLS, shared memory."""
