# SPDX-License-Identifier: Apache-2.0
"""The main process of a pod, with torch in it: a worker, a parameter server, or a user's script, by the pod's role."""
