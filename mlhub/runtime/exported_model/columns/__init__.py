# SPDX-License-Identifier: Apache-2.0
"""Columns of tables: how a file separates them and writes their numbers, and how a cell becomes inputs."""
