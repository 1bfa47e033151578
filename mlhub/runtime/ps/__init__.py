# SPDX-License-Identifier: Apache-2.0
"""The parameter server: own frames over TCP, tensors as flat float32.

Pure: rules (when to apply and to answer), leases (who trains on what), staleness, updates. Around them:
frames < handshake < layout < chunks < inflight_pushes < shard < server, client.
"""
