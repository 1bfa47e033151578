# SPDX-License-Identifier: Apache-2.0
"""The parameter server's side: shards, chunks, pending versions, snapshots, the write-ahead log."""
