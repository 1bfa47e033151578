# SPDX-License-Identifier: Apache-2.0
"""Files of Lua Torch: the importer `torch7`."""

from functools import partial

from mlhub.runtime.importers.package import imported_by
from mlhub.runtime.importers.torch7.reader import read

imported = partial(imported_by, {"torch7": read})
