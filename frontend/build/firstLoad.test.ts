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
    { page: "page.js", bytes: size("entry", "react", "page"), translated_bytes: size("entry", "react", "page") },
    { page: "entry.js", bytes: size("entry", "react"), translated_bytes: size("entry", "react") },
  ]);
});

it("counts what the entry imports once it knows the language with every page, and the most texts of a language", () => {
  const texts = (name: string, code: string) => ({ ...chunk(code), facadeModuleId: `\0virtual:catalogue/${name}` });
  const chunks = {
    "entry.js": chunk("entry", [], ["start.js", "zh.js", "zh-jobs.js", "de.js"], true),
    "start.js": { ...chunk("start", ["react.js"], ["home.js", "jobs.js"]), facadeModuleId: "/mlhub/src/app/start.tsx" },
    "react.js": chunk("react"),
    "zh.js": texts("zh-CN/common", "common texts"),
    "zh-jobs.js": texts("zh-CN/jobs", "texts of jobs"),
    "de.js": texts("de/common", "a"),
    "home.js": chunk("one page"),
    "jobs.js": { ...chunk("jobs"), facadeModuleId: "/mlhub/src/features/jobs/list/JobsPage.tsx" },
  };
  const size = (...texts: string[]) => texts.reduce((sum, text) => sum + gzipSync(text).length, 0);
  const loads = Object.fromEntries(firstLoads(chunks).map(({ page, bytes, translated_bytes }) => [page, [bytes, translated_bytes]]));
  expect(loads).toEqual({
    "entry.js": [size("entry", "start", "react"), size("entry", "start", "react", "common texts")],
    "home.js": [size("entry", "start", "react", "one page"), size("entry", "start", "react", "one page", "common texts")],
    "/mlhub/src/features/jobs/list/JobsPage.tsx": [
      size("entry", "start", "react", "jobs"),
      size("entry", "start", "react", "jobs", "common texts", "texts of jobs"),
    ],
  });
});

it("counts the styles that the chunks bring along", () => {
  const css = ".page { color: red }";
  const chunks = {
    "entry.js": chunk("entry", [], ["page.js"], true),
    "page.js": { ...chunk("page"), viteMetadata: { importedCss: new Set(["page.css"]) } },
  };
  const scripts = gzipSync("entry").length + gzipSync("page").length;
  const [largest] = firstLoads(chunks, { "page.css": css, "other.css": css });
  expect(largest).toMatchObject({ page: "page.js", bytes: scripts + gzipSync(css).length });
});
