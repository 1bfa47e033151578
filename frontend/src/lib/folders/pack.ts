// SPDX-License-Identifier: Apache-2.0
// A folder as one file to upload, as the command line makes it: a zip with the names from the folder on.
import { t } from "@lingui/core/macro";

import { type NamedFile, zipped } from "@/lib/folders/zip";
import { number } from "@/lib/quantities";

/** Of an archive that the platform opens. */
export const MOST_FILES = 200_000;
const SEVERAL = "files.zip";

export interface Packed {
  file: File;
  /** The paths in it. */
  names: string[];
}

/** Thrown with words for the person who chose the folder. */
export class PackingError extends Error {}

/** The zip of what is found, without the one folder that all of it lies in. The same content gives the same file, also
 * in its `lastModified`, by which an upload that was begun is known again. Raises PackingError, the signal's reason. */
export async function packed(
  found: AsyncIterable<NamedFile> | Iterable<NamedFile>,
  onRead: (nRead: number, nFiles: number) => void,
  signal: AbortSignal,
): Promise<Packed> {
  try {
    const { files, folder } = withoutCommonFolder(await collected(found, signal));
    const { parts, checksum } = await zipped(files, (nRead) => onRead(nRead, files.length), signal);
    const name = folder === undefined ? SEVERAL : `${folder}.zip`;
    const file = new File(parts, name, { type: "application/zip", lastModified: checksum });
    return { file, names: files.map((each) => each.name) };
  } catch (error) {
    if (signal.aborted || error instanceof PackingError) throw error;
    throw new PackingError(t`A file cannot be read. Close the programs that change it, and choose the folder again.`);
  }
}

async function collected(found: AsyncIterable<NamedFile> | Iterable<NamedFile>, signal: AbortSignal) {
  const files: NamedFile[] = [];
  for await (const each of found) {
    signal.throwIfAborted();
    files.push(each);
    if (files.length > MOST_FILES) {
      throw new PackingError(t`The folder has more than ${number(MOST_FILES)} files. Pack the examples as NPZ or Parquet instead.`);
    }
  }
  if (files.length === 0) throw new PackingError(t`The folder has no files.`);
  return files;
}

function withoutCommonFolder(files: readonly NamedFile[]) {
  const folders = new Set(files.map(({ name }) => (name.includes("/") ? name.slice(0, name.indexOf("/")) : undefined)));
  const [folder] = folders;
  if (folders.size > 1 || folder === undefined) return { files, folder: undefined };
  return { files: files.map(({ name, file }) => ({ name: name.slice(folder.length + 1), file })), folder };
}
