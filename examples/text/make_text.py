# SPDX-License-Identifier: Apache-2.0
"""Writes help.txt: the pages that Python's own help() shows, about 450,000 characters."""

from pathlib import Path
from pydoc_data.topics import topics

Path(__file__).with_name("help.txt").write_text("\n\n".join(topics[name].strip() for name in sorted(topics)))
