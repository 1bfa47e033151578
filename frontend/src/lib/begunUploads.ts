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
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    const pairs = typeof found === "object" && found !== null ? Object.entries(found) : [];
    return Object.fromEntries(pairs.filter((pair): pair is [string, string] => typeof pair[1] === "string"));
  } catch {
    return {}; // what cannot be read is sent again
  }
}

export function rememberUpload(print: string, id: string) {
  const others = Object.entries(begunUploads()).filter(([other]) => other !== print);
  write(Object.fromEntries([...others, [print, id] as const].slice(-MOST)));
}

export function forgetUpload(id: string) {
  write(Object.fromEntries(Object.entries(begunUploads()).filter(([, other]) => other !== id)));
}

function write(uploads: Record<string, string>) {
  try {
    localStorage.setItem(KEY, JSON.stringify(uploads));
  } catch {
    // a full or forbidden storage: uploads then begin anew after a reload
  }
}
