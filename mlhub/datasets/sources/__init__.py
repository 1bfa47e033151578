# SPDX-License-Identifier: Apache-2.0
"""Where the files of dataset versions by reference are, and how they are fetched. Nothing here writes rows."""
