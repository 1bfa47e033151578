# SPDX-License-Identifier: Apache-2.0
"""Logs of the server's processes: of requests, of Celery's tasks, and their form."""
