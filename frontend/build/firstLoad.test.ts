// SPDX-License-Identifier: Apache-2.0
// The first load: an entry and a page with all that both import, each chunk counted once.
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";

import { firstLoads } from "./firstLoad.ts";

function chunk(code: string, imports: string[] = [], dynamicImports: string[] = [], isEntry = false) {
  return { code, imports, dynamicImports, isEntry, facadeModuleId: null };
}

it("counts what is imported at once, and each chunk once however often it is imported", () => {
  const code = { entry: "import './react'", react: "export const react = 1", page: "export const page = 2", later: "export {}" };
  const size = (...names: (keyof typeof code)[]) => names.reduce((sum, name) => sum + gzipSync(code[name]).length, 0);
  const chunks = {
    "entry.js": chunk(code.entry, ["react.js"], ["page.js"], true),
    "react.js": chunk(code.react),
    "page.js": chunk(code.page, ["react.js", "entry.js"], ["later.js"]),
    "later.js": chunk(code.later),
  };
  expect(firstLoads(chunks)).toEqual([
    { page: "page.js", bytes: size("entry", "react", "page") },
    { page: "entry.js", bytes: size("entry", "react") },
  ]);
});

it("counts the styles that the chunks bring along", () => {
  const css = ".page { color: red }";
  const chunks = {
    "entry.js": chunk("entry", [], ["page.js"], true),
    "page.js": { ...chunk("page"), viteMetadata: { importedCss: new Set(["page.css"]) } },
  };
  const scripts = gzipSync("entry").length + gzipSync("page").length;
  const [largest] = firstLoads(chunks, { "page.css": css, "other.css": css });
  expect(largest).toEqual({ page: "page.js", bytes: scripts + gzipSync(css).length });
});
