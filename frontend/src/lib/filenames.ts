// SPDX-License-Identifier: Apache-2.0
// The parts of file names.

/** "digits.v2" of "digits.v2.csv": what an upload is called unless one says otherwise. */
export function stemOf(filename: string): string {
  return filename.replace(/\.[^.]*$/, "");
}

/** The name of a file that the page makes, of what it shows: letters and digits of any language. */
export function fileNameOf(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N}_.]+/gu, "-").replaceAll(/^-+|-+$/g, "") || "figure";
}
