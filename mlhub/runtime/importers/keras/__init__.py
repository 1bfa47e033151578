# SPDX-License-Identifier: Apache-2.0
"""Keras files, of version 3 and in HDF5: the importer `keras`."""

from functools import partial

from mlhub.runtime.importers.keras.reader import read, read_legacy
from mlhub.runtime.importers.package import imported_by

imported = partial(imported_by, {"keras": read, "keras_h5": read_legacy})
