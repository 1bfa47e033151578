// Writes each asset compressed too: the server hands out the .br or .gz file to browsers that accept it.
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

import type { Plugin } from "vite";

const COMPRESSIBLE = /\.(?:js|css|svg)$/;
/** Below this a compressed answer is not worth its headers. */
const SMALLEST_BYTES = 500;

export function precompressed(): Plugin {
  return {
    name: "mlhub:precompressed",
    apply: "build",
    enforce: "post",
    generateBundle(_, bundle) {
      for (const [fileName, file] of Object.entries(bundle)) {
        const source = Buffer.from(file.type === "chunk" ? file.code : file.source);
        if (!COMPRESSIBLE.test(fileName) || source.length < SMALLEST_BYTES) continue;
        this.emitFile({ type: "asset", fileName: `${fileName}.gz`, source: gzipSync(source, { level: 9 }) });
        const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
        this.emitFile({ type: "asset", fileName: `${fileName}.br`, source: brotliCompressSync(source, { params }) });
      }
    },
  };
}
