# SPDX-License-Identifier: Apache-2.0
"""The thin client of the Kubernetes API: connection, requests and their refusals, watches, rights. No gangs."""
