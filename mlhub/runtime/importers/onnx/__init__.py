# SPDX-License-Identifier: Apache-2.0
"""ONNX graphs: the importer `onnx`."""

from functools import partial

from mlhub.runtime.importers.onnx.reader import read
from mlhub.runtime.importers.package import imported_by

imported = partial(imported_by, {"onnx": read})
