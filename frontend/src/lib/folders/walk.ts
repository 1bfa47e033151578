// SPDX-License-Identifier: Apache-2.0
// The files of folders that were dropped or chosen, by their paths.
import type { NamedFile } from "@/lib/folders/zip";

/** As the command line leaves them out, besides everything hidden, such as .git and .DS_Store. */
const LEFT_OUT = new Set(["__pycache__", "node_modules", "venv", "env"]);

/** What was dropped. To be called while the event is handled: afterwards the browser shows nothing of it any more. */
export function droppedEntries({ items }: DataTransfer): FileSystemEntry[] {
  return [...items].flatMap((item) => (item.kind === "file" ? (item.webkitGetAsEntry() ?? []) : []));
}

/** All files in the entries and their folders, named from the entries on. */
export async function* filesIn(entries: readonly FileSystemEntry[], prefix = ""): AsyncGenerator<NamedFile & { file: File }> {
  for (const entry of entries) {
    if (isLeftOut(entry.name)) continue;
    const name = prefix + entry.name;
    if (isFile(entry)) yield { name, file: await new Promise<File>((resolve, reject) => entry.file(resolve, reject)) };
    else if (isFolder(entry)) yield* filesIn(await childrenOf(entry), `${name}/`);
  }
}

/** The files of a folder that was chosen with a button. */
export function chosenFiles(files: readonly File[]): (NamedFile & { file: File })[] {
  const named = files.map((file) => ({ name: file.webkitRelativePath || file.name, file }));
  return named.filter(({ name }) => !name.split("/").some(isLeftOut));
}

async function childrenOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const found: FileSystemEntry[] = [];
  // a call gives some of them, a hundred in Chromium; none are left when it gives none
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return found;
    found.push(...some);
  }
}

function isLeftOut(name: string): boolean {
  return name.startsWith(".") || LEFT_OUT.has(name);
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function isFolder(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory;
}
