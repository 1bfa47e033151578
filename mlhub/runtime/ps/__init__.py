# SPDX-License-Identifier: Apache-2.0
"""The parameter server: declared messages over TCP or a unix socket, tensors as flat float32.

Pure: rules (when to apply and to answer), leases (who trains on what), staleness, updates. Around them:
messages < handshake < layout < chunks < update pipeline < shard < push stream < connection < server, and on the
worker's side links < transfers < client.
"""
