# SPDX-License-Identifier: Apache-2.0
"""The embedded default: real PostgreSQL and Valkey from wheels, and the platform's processes, under one supervisor.

No Django in here: the supervisor only starts commands and watches them.
"""
