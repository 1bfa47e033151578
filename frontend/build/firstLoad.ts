// SPDX-License-Identifier: Apache-2.0
// How much a browser must load before it can show a page (scripts, styles and a language's texts), and the limit of it that a
// build keeps.
import { gzipSync } from "node:zlib";

import type { Plugin, Rollup } from "vite";

import { COMMON, partOf } from "./catalogues.ts";

const KB = 1000;
/** What the entry imports on demand in any case, once the language is known. */
const START = /\/src\/app\/start\.tsx$/;
const TEXTS = /virtual:catalogue\/([\w-]+)\/([\w-]+)$/;

export interface FirstLoad {
  /** The page's module, or the entry where nothing more is needed. */
  page: string;
  /** Compressed with gzip, in English, whose texts stand in the scripts. */
  bytes: number;
  /** In the language that has most texts to load. */
  translated_bytes: number;
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
    for (const page of [entry, ...pages.filter((file) => !roots.includes(file) && textsIn(chunks, file) === null)]) {
      const scripts = [...staticClosure(chunks, [...roots, page])];
      const files = new Set(scripts.flatMap((file) => [file, ...(chunks[file]?.viteMetadata?.importedCss ?? [])]));
      const bytes = [...files].reduce((sum, file) => sum + (sizes.get(file) ?? 0), 0);
      const module = chunks[page]?.facadeModuleId ?? page;
      loads.push({ page: module, bytes, translated_bytes: bytes + mostTexts(chunks, sizes, partOf(module)) });
    }
  }
  return loads.sort((a, b) => b.bytes - a.bytes);
}

/** Of the languages with catalogues, the most bytes that `part` and the common part take. */
function mostTexts(chunks: Chunks, sizes: ReadonlyMap<string, number>, part: string): number {
  const byLocale = new Map<string, number>();
  for (const file of Object.keys(chunks)) {
    const texts = textsIn(chunks, file);
    if (texts === null || (texts.part !== COMMON && texts.part !== part)) continue;
    byLocale.set(texts.locale, (byLocale.get(texts.locale) ?? 0) + (sizes.get(file) ?? 0));
  }
  return Math.max(0, ...byLocale.values());
}

function textsIn(chunks: Chunks, file: string): { locale: string; part: string } | null {
  const [, locale, part] = TEXTS.exec(chunks[file]?.facadeModuleId ?? "") ?? [];
  return locale === undefined || part === undefined ? null : { locale, part };
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

interface Limits {
  english_kb: number;
  translated_kb: number;
}

/** Fails the build when a page's first load is more than the limits (of 1,000 bytes) of compressed scripts, styles and texts. */
export function firstLoadLimit({ english_kb, translated_kb }: Limits): Plugin {
  let root = "";
  return {
    name: "mlhub:first-load-limit",
    apply: "build",
    configResolved(config) {
      root = `${config.root}/`;
    },
    generateBundle(_, bundle) {
      const chunks = Object.fromEntries(Object.entries(bundle).filter(([, { type }]) => type === "chunk"));
      const loads = firstLoads(chunks as Chunks, stylesOf(bundle));
      const keep = (language: string, bytesOf: (load: FirstLoad) => number, limit_kb: number) => {
        const largest = loads.toSorted((a, b) => bytesOf(b) - bytesOf(a))[0];
        if (largest === undefined) this.error("The build has no entry.");
        const said = `The largest first load ${language} is ${(bytesOf(largest) / KB).toFixed(1)} kB compressed, of ${largest.page.replace(root, "")}`;
        if (bytesOf(largest) > limit_kb * KB) {
          this.error(`${said}; the limit is ${limit_kb} kB. Import what the page need not show at once on demand.`);
        }
        this.info(`${said} (limit ${limit_kb} kB).`);
      };
      keep("in English", ({ bytes }) => bytes, english_kb);
      keep("with the texts of another language", ({ translated_bytes }) => translated_bytes, translated_kb);
    },
  };
}

function stylesOf(bundle: Rollup.OutputBundle): Styles {
  const files = Object.values(bundle).filter((file) => file.type === "asset" && file.fileName.endsWith(".css"));
  return Object.fromEntries(files.map((file) => [file.fileName, file.type === "asset" ? file.source.toString() : ""]));
}
