# SPDX-License-Identifier: Apache-2.0
"""Content-addressed blobs and who holds them: every byte that people or pods bring passes through here."""
