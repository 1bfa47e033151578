# SPDX-License-Identifier: Apache-2.0
"""Caffe's prototxt and caffemodel: the importer `caffe`."""

from functools import partial

from mlhub.runtime.importers.caffe.reader import read
from mlhub.runtime.importers.package import imported_by

imported = partial(imported_by, {"caffe": read})
