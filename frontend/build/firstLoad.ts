// SPDX-License-Identifier: Apache-2.0
// How much a browser must load before it can show a page (scripts and styles), and the limit of it that a build keeps.
import { gzipSync } from "node:zlib";

import type { Plugin, Rollup } from "vite";

const KB = 1000;
/** What the entry imports on demand in any case, once the language is known. */
const START = /\/src\/app\/start\.tsx$/;

export interface FirstLoad {
  /** The page's module, or the entry where nothing more is needed. */
  page: string;
  /** Compressed with gzip. */
  bytes: number;
}

interface Chunk extends Pick<Rollup.OutputChunk, "code" | "imports" | "dynamicImports" | "isEntry" | "facadeModuleId"> {
  /** The files of the styles that Vite loads together with the chunk. */
  viteMetadata?: { importedCss: ReadonlySet<string> };
}
export type Chunks = Record<string, Chunk>;
/** By file. */
type Styles = Record<string, string>;

/** For each page that is imported on demand: the entry, the start, the page, and all that they import; largest first. */
export function firstLoads(chunks: Chunks, styles: Styles = {}): FirstLoad[] {
  const contents = [...Object.entries(chunks).map(([file, { code }]) => [file, code] as const), ...Object.entries(styles)];
  const sizes = new Map(contents.map(([file, text]) => [file, gzipSync(text).length]));
  const loads: FirstLoad[] = [];
  for (const [entry, { isEntry }] of Object.entries(chunks)) {
    if (!isEntry) continue;
    const roots = [entry, ...startsOf(chunks)];
    const pages = [...staticClosure(chunks, roots)].flatMap((file) => chunks[file]?.dynamicImports ?? []);
    for (const page of [entry, ...pages.filter((file) => !roots.includes(file))]) {
      const scripts = [...staticClosure(chunks, [...roots, page])];
      const files = new Set(scripts.flatMap((file) => [file, ...(chunks[file]?.viteMetadata?.importedCss ?? [])]));
      const bytes = [...files].reduce((sum, file) => sum + (sizes.get(file) ?? 0), 0);
      loads.push({ page: chunks[page]?.facadeModuleId ?? page, bytes });
    }
  }
  return loads.sort((a, b) => b.bytes - a.bytes);
}

/** The files with which the dashboard starts. */
export function startsOf(chunks: Chunks): string[] {
  return Object.entries(chunks).flatMap(([file, { facadeModuleId }]) => (START.test(facadeModuleId ?? "") ? [file] : []));
}

/** The files `roots` and all that they import at once. */
export function staticClosure(chunks: Chunks, roots: readonly string[]): Set<string> {
  const found = new Set<string>();
  const waiting = [...roots];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    waiting.push(...(chunks[file]?.imports ?? []));
  }
  return found;
}

/** Fails the build when a page's first load is more than `limit_kb` (1,000 bytes) of compressed scripts and styles. */
export function firstLoadLimit(limit_kb: number): Plugin {
  let root = "";
  return {
    name: "mlhub:first-load-limit",
    apply: "build",
    configResolved(config) {
      root = `${config.root}/`;
    },
    generateBundle(_, bundle) {
      const chunks = Object.fromEntries(Object.entries(bundle).filter(([, { type }]) => type === "chunk"));
      const largest = firstLoads(chunks as Chunks, stylesOf(bundle))[0];
      if (largest === undefined) this.error("The build has no entry.");
      const said = `The largest first load is ${(largest.bytes / KB).toFixed(1)} kB of compressed scripts and styles, of ${largest.page.replace(root, "")}`;
      if (largest.bytes > limit_kb * KB) {
        this.error(`${said}; the limit is ${limit_kb} kB. Import what the page need not show at once on demand.`);
      }
      this.info(`${said} (limit ${limit_kb} kB).`);
    },
  };
}

function stylesOf(bundle: Rollup.OutputBundle): Styles {
  const files = Object.values(bundle).filter((file) => file.type === "asset" && file.fileName.endsWith(".css"));
  return Object.fromEntries(files.map((file) => [file.fileName, file.type === "asset" ? file.source.toString() : ""]));
}
