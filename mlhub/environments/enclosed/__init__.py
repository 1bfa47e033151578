# SPDX-License-Identifier: Apache-2.0
"""The installer in the sandbox: which hosts and files of the platform's package index it reaches, and its process."""
