// SPDX-License-Identifier: Apache-2.0
// What a folder becomes: every file of it, with its name, the same bytes each time.
import { describe, expect, it } from "vitest";

import { packed, PackingError } from "@/lib/folders/pack";
import { chosenFiles, filesIn } from "@/lib/folders/walk";
import { continued, type NamedFile } from "@/lib/folders/zip";

const BATCH = 100;

function fileEntry(name: string, content = name): FileSystemEntry {
  const file = new File([content], name);
  return { name, isFile: true, isDirectory: false, file: (done: (file: File) => void) => done(file) } as never;
}

/** Gives its children as Chromium does: a hundred a call, then none. */
function folderEntry(name: string, children: FileSystemEntry[]): FileSystemEntry {
  let at = 0;
  const readEntries = (done: (some: FileSystemEntry[]) => void) => done(children.slice(at, (at += BATCH)));
  return { name, isFile: false, isDirectory: true, createReader: () => ({ readEntries }) } as never;
}

function unchanged(found: AsyncIterable<NamedFile> | Iterable<NamedFile>) {
  return packed(found, () => undefined, new AbortController().signal);
}

async function bytesOf(file: File) {
  return new Uint8Array(await file.arrayBuffer());
}

describe("a folder", () => {
  it("is walked to its end, also where it has more files than one call gives", async () => {
    const cats = Array.from({ length: 3 * BATCH + 1 }, (_, i) => fileEntry(`${i}.png`));
    const folder = folderEntry("pictures", [folderEntry("cats", cats), folderEntry("dogs", [fileEntry("Ä ü.png")])]);
    const { file, names } = await unchanged(filesIn([folder]));
    expect(file.name).toBe("pictures.zip");
    expect(names).toHaveLength(3 * BATCH + 2);
    expect(names).toEqual(expect.arrayContaining(["cats/0.png", "cats/300.png", "dogs/Ä ü.png"]));
  });

  it("leaves out what is hidden, and packages and caches", async () => {
    const left = [".git", "node_modules", "__pycache__"].map((name) => folderEntry(name, [fileEntry("x")]));
    const { names } = await unchanged(filesIn([folderEntry("code", [...left, fileEntry(".DS_Store"), fileEntry("model.py")])]));
    expect(names).toEqual(["model.py"]);
  });

  it("keeps the folders' names where several were dropped", async () => {
    const folders = ["cats", "dogs"].map((name) => folderEntry(name, [fileEntry("1.png")]));
    const { file, names } = await unchanged(filesIn(folders));
    expect([file.name, ...names]).toEqual(["files.zip", "cats/1.png", "dogs/1.png"]);
  });

  it("that was chosen with the button has the same names", async () => {
    const files = ["pictures/cats/1.png", "pictures/.hidden/2.png"].map((path) =>
      Object.defineProperty(new File(["a"], path), "webkitRelativePath", { value: path }),
    );
    expect((await unchanged(chosenFiles(files))).names).toEqual(["cats/1.png"]);
  });

  it("gives the same file for the same content in any order, and another one when a file is renamed", async () => {
    const one = { name: "f/a", file: new Blob(["1"]) };
    const two = { name: "f/b", file: new Blob(["2"]) };
    const [first, again, renamed] = await Promise.all([
      unchanged([one, two]),
      unchanged([two, one]),
      unchanged([one, { ...two, name: "f/c" }]),
    ]);
    expect(await bytesOf(again.file)).toEqual(await bytesOf(first.file));
    expect(again.file.lastModified).toBe(first.file.lastModified);
    expect(renamed.file.size).toBe(first.file.size);
    expect(renamed.file.lastModified).not.toBe(first.file.lastModified);
  });

  it("without files, or with one that cannot be read, says so", async () => {
    await expect(unchanged(filesIn([folderEntry("empty", [])]))).rejects.toThrow("The folder has no files.");
    const gone = Object.assign(new Blob(["x"]), { slice: () => ({ arrayBuffer: () => Promise.reject(new Error("gone")) }) });
    await expect(unchanged([{ name: "f/a", file: gone }])).rejects.toThrow(PackingError);
  });

  it("is not read on once something else was chosen", async () => {
    const another = new AbortController();
    another.abort(new Error("another folder"));
    await expect(packed([{ name: "f/a", file: new Blob(["x"]) }], () => undefined, another.signal)).rejects.toThrow("another");
  });
});

it("the checksum is that of zip", () => {
  expect(continued(0, new TextEncoder().encode("123456789"))).toBe(0xcbf43926);
});
