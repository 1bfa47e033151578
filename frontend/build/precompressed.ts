// SPDX-License-Identifier: Apache-2.0
// Writes each asset compressed too: the server hands out the .br or .gz file to browsers that accept it.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

import type { Plugin } from "vite";

const COMPRESSIBLE = /\.(?:js|css|svg)$/;
/** Below this a compressed answer is not worth its headers. */
const SMALLEST_BYTES = 500;

/** Writes `path`.gz and `path`.br, where that is worth it. */
export function compressFile(path: string): void {
  const source = readFileSync(path);
  if (!COMPRESSIBLE.test(path) || source.length < SMALLEST_BYTES) return;
  writeFileSync(`${path}.gz`, gzipSync(source, { level: 9 }));
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  writeFileSync(`${path}.br`, brotliCompressSync(source, { params }));
}

export function precompressed(): Plugin {
  return {
    name: "mlhub:precompressed",
    apply: "build",
    // the files as they were written: other plugins change the code until then
    writeBundle({ dir }, bundle) {
      if (dir === undefined) this.error("The build has no output directory.");
      for (const fileName of Object.keys(bundle)) compressFile(join(dir, fileName));
    },
  };
}
