// SPDX-License-Identifier: Apache-2.0
// How much a browser must load before it can show a page (scripts and styles), and the limit of it that a build keeps.
import { gzipSync } from "node:zlib";

import type { Plugin, Rollup } from "vite";

const KB = 1000;

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
type Chunks = Record<string, Chunk>;
/** By file. */
type Styles = Record<string, string>;

/** For each page that the entry imports on demand: the entry, the page, and all that both import; largest first. */
export function firstLoads(chunks: Chunks, styles: Styles = {}): FirstLoad[] {
  const contents = [...Object.entries(chunks).map(([file, { code }]) => [file, code] as const), ...Object.entries(styles)];
  const sizes = new Map(contents.map(([file, text]) => [file, gzipSync(text).length]));
  const loads: FirstLoad[] = [];
  for (const [entry, { isEntry }] of Object.entries(chunks)) {
    if (!isEntry) continue;
    const shell = staticClosure(chunks, [entry]);
    const pages = [...shell].flatMap((file) => chunks[file]?.dynamicImports ?? []);
    for (const page of [entry, ...pages]) {
      const scripts = [...staticClosure(chunks, [entry, page])];
      const files = new Set(scripts.flatMap((file) => [file, ...(chunks[file]?.viteMetadata?.importedCss ?? [])]));
      const bytes = [...files].reduce((sum, file) => sum + (sizes.get(file) ?? 0), 0);
      loads.push({ page: chunks[page]?.facadeModuleId ?? page, bytes });
    }
  }
  return loads.sort((a, b) => b.bytes - a.bytes);
}

function staticClosure(chunks: Chunks, roots: readonly string[]): Set<string> {
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
