# SPDX-License-Identifier: Apache-2.0
"""Files of any kind, for code that reads them by itself: a zip, which scripts find unpacked, or one file as it is.

Nothing in them is examples: MLHub's own loop and built-in models refuse such a dataset.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from mlhub.runtime.data.archives import open_archive
from mlhub.runtime.data.folders import members_of
from mlhub.runtime.data.readers.examples import Examples, InspectionResult
from mlhub.runtime.data.shard_folders import shards_in
from mlhub.runtime.errors import BadInputError
from mlhub.wire.formats import FILES_TASK

N_SHOWN = 200
N_SUFFIXES = 20


class FilesReader:
    def inspect(self, path: Path, options: Mapping[str, Any]) -> InspectionResult:  # noqa: ARG002 (it has none)
        """Counts the files. Raises BadInputError for an archive that is damaged or unsafe, or holds nothing."""
        if path.is_dir():
            return _described([(shard.name, shard.stat().st_size) for shard in shards_in(path)])
        if not zipfile.is_zipfile(path):
            return _described([("", path.stat().st_size)])
        with open_archive(path) as archive:
            found = [(info.filename, info.file_size) for info in members_of(archive)]
        if not found:
            raise BadInputError(
                "There are no files in the archive.",
                field="file",
                remedy="Pack the folder again: zip -r data.zip FOLDER.",
            )
        return _described(found)

    def open(self, path: Path, schema: Mapping[str, Any]) -> Examples:  # noqa: ARG002 (the protocol's signature)
        raise BadInputError(
            "The dataset is of files of any kind, in which MLHub knows no examples.",
            field="dataset",
            remedy="Read them in a script: mlhub.runtime.dataset_folder() is where they are.",
        )


READER = FilesReader()


def _described(files: Iterable[tuple[str, int]]) -> InspectionResult:
    """files: names and bytes; the name "" stands for that of the upload."""
    by_name = sorted(files)
    n_bytes, n_files = Counter[str](), Counter[str]()
    for name, size in by_name:
        suffix = PurePosixPath(name).suffix.lower()
        n_bytes[suffix] += size
        n_files[suffix] += 1
    schema = {"task": FILES_TASK, "n_files": len(by_name), "n_bytes": sum(n_bytes.values())}
    preview = {
        "kind": "files",
        "files": [{"name": name, "size_bytes": size} for name, size in by_name[:N_SHOWN]],
        "n_files": len(by_name),
        "suffixes": [
            {"suffix": suffix, "n_files": n, "size_bytes": n_bytes[suffix]}
            for suffix, n in n_files.most_common(N_SUFFIXES)
        ],
    }
    return InspectionResult(schema, preview)
