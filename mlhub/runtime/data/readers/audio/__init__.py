# SPDX-License-Identifier: Apache-2.0
"""Clips of audio in class folders: the archive, decoding by libsndfile, the signal as models get it, and statistics."""
