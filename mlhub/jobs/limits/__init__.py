# SPDX-License-Identifier: Apache-2.0
"""How much a job, a user and a project may have: of the cluster, of hosts, of the queue, of ingest."""
