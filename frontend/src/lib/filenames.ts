// SPDX-License-Identifier: Apache-2.0
// The parts of file names.

/** "digits.v2" of "digits.v2.csv": what an upload is called unless one says otherwise. */
export function stemOf(filename: string): string {
  return filename.replace(/\.[^.]*$/, "");
}
