// SPDX-License-Identifier: Apache-2.0
// Compressed assets are the assets: what the server hands out is the same in every encoding.
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";

import type { Plugin } from "vite";
import { expect, it } from "vitest";

import { precompressed } from "./precompressed.ts";

type WriteBundle = (options: { dir: string }, bundle: Record<string, unknown>) => void;

it("compresses what was written, not what the bundle held before other plugins had changed it", () => {
  const dir = mkdtempSync(join(tmpdir(), "dist-"));
  const written = "export const preload = import.meta.url;".repeat(50);
  writeFileSync(join(dir, "page.js"), written);
  writeFileSync(join(dir, "tiny.js"), "1");
  const plugin: Plugin = precompressed();
  (plugin.writeBundle as WriteBundle)({ dir }, { "page.js": { code: "__VITE_PRELOAD__" }, "tiny.js": { code: "1" } });
  expect(gunzipSync(readFileSync(join(dir, "page.js.gz"))).toString()).toBe(written);
  expect(brotliDecompressSync(readFileSync(join(dir, "page.js.br"))).toString()).toBe(written);
  expect(existsSync(join(dir, "tiny.js.gz"))).toBe(false);
});
