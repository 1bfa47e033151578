# SPDX-License-Identifier: Apache-2.0
"""What changes the cluster: gangs launched, pushed on and removed, projects' namespaces, claims, sandbox runs."""
