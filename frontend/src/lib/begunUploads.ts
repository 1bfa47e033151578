// SPDX-License-Identifier: Apache-2.0
// Which uploads this browser has begun, by their files, so that one goes on after the page was loaded anew.
const KEY = "mlhub.uploads";
const MOST = 50;

/** The same for the same file; a file that was changed is another one. */
export function fingerprint(file: File, project: string): string {
  return [project, file.name, file.size, file.lastModified].join("|");
}

/** Ids of uploads by the fingerprints of their files, oldest first. */
export function begunUploads(): Record<string, string> {
  return Object.fromEntries(Object.entries(read()).map(([print, begun]) => [print, idOf(begun)]));
}

/** By their ids the paths of the pages on which uploads were begun; "" where that is not known. */
export function pagesOfUploads(stored: string): Record<string, string> {
  return Object.fromEntries(Object.values(parsed(stored)).map((begun) => [idOf(begun), begun.slice(idOf(begun).length + 1)]));
}

/** page: the path of the page on which it is begun. */
export function rememberUpload(print: string, id: string, page = "") {
  const others = Object.entries(read()).filter(([other]) => other !== print);
  write(Object.fromEntries([...others, [print, `${id} ${page}`.trim()] as const].slice(-MOST)));
}

export function forgetUpload(id: string) {
  write(Object.fromEntries(Object.entries(read()).filter(([, begun]) => idOf(begun) !== id)));
}

/** What is stored of them now, as one text, for pagesOfUploads(). */
export function storedUploads(): string {
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

/** Calls back when one is begun or forgotten, in this tab or another one; returns what ends that. */
export function onUploadsChanged(callback: () => void): () => void {
  listeners.add(callback);
  addEventListener("storage", callback);
  return () => {
    listeners.delete(callback);
    removeEventListener("storage", callback);
  };
}

const listeners = new Set<() => void>();

/** Of "ID" or "ID PAGE". */
function idOf(begun: string): string {
  return begun.split(" ", 1)[0] ?? "";
}

function read(): Record<string, string> {
  return parsed(storedUploads());
}

function parsed(stored: string): Record<string, string> {
  try {
    const found: unknown = JSON.parse(stored || "{}");
    const pairs = typeof found === "object" && found !== null ? Object.entries(found) : [];
    return Object.fromEntries(pairs.filter((pair): pair is [string, string] => typeof pair[1] === "string"));
  } catch {
    return {}; // what cannot be read is sent again
  }
}

function write(uploads: Record<string, string>) {
  try {
    localStorage.setItem(KEY, JSON.stringify(uploads));
  } catch {
    // a full or forbidden storage: uploads then begin anew after a reload
  }
  for (const listener of listeners) listener();
}
