// SPDX-License-Identifier: Apache-2.0
// Divides a language's catalogue: a page loads the texts of its own feature, and those of what is no feature. Each part is a
// module, `virtual:catalogue/zh-CN/jobs`; the module `virtual:catalogues` imports each on demand.
import { readdirSync } from "node:fs";
import { join } from "node:path";

import { createCompilationErrorMessage, createCompiledCatalog, getCatalogs } from "@lingui/cli/api";
import { getConfig } from "@lingui/conf";
import type { Plugin } from "vite";

const INDEX = "virtual:catalogues";
const PART = /^virtual:catalogue\/([\w-]+)\/([\w-]+)$/;
/** The part of what does not belong to one feature. */
export const COMMON = "common";

/** By the id of a text: the parts in which it stands. */
type Parts = ReadonlyMap<string, ReadonlySet<string>>;

/** The part that a file belongs to: its feature, else the common one. */
export function partOf(file: string): string {
  return /(?:^|\/)src\/features\/([^/]+)\//.exec(file)?.[1] ?? COMMON;
}

/** Of `messages`, those of `part`: what stands in the common part, too, is there. */
export function messagesOf(part: string, parts: Parts, messages: Record<string, string>): Record<string, string> {
  const isOfPart = (id: string) => parts.get(id)?.has(part) && (part === COMMON || !parts.get(id)?.has(COMMON));
  return Object.fromEntries(Object.entries(messages).filter(([id]) => isOfPart(id)));
}

export function catalogues(): Plugin {
  const config = getConfig({ configPath: "lingui.config.ts" });
  const parts = [COMMON, ...readdirSync(join(config.rootDir, "src/features"))];
  let texts: Promise<Catalogue> | undefined;
  return {
    name: "mlhub:catalogues",
    resolveId: { filter: { id: /^virtual:catalogue/ }, handler: (source) => (source === INDEX || PART.test(source) ? `\0${source}` : null) },
    buildStart() {
      texts = undefined;
    },
    load: {
      filter: { id: /^\0virtual:catalogue/ },
      async handler(id) {
        if (id === `\0${INDEX}`) return index(config.locales, parts);
        const [, locale, part] = PART.exec(id.slice(1)) ?? [];
        if (locale === undefined || part === undefined) return null;
        texts ??= collected(config);
        const { catalog, partsByText } = await texts;
        const { messages } = await catalog.getTranslations(locale, { fallbackLocales: {}, sourceLocale: config.sourceLocale });
        const { source, errors } = createCompiledCatalog(locale, messagesOf(part, partsByText, messages), { namespace: "es" });
        if (errors.length > 0) this.error(createCompilationErrorMessage(locale, errors));
        return source;
      },
    },
  };
}

interface Catalogue {
  catalog: Awaited<ReturnType<typeof getCatalogs>>[number];
  partsByText: Parts;
}

async function collected(config: ReturnType<typeof getConfig>): Promise<Catalogue> {
  const [catalog] = await getCatalogs(config);
  const found = await catalog?.collect({ files: undefined });
  if (catalog === undefined || found === undefined) throw new Error("lingui.config.ts names no catalogue, or a text cannot be read.");
  const partsByText = Object.entries(found).map(([id, { origin }]) => [id, new Set(origin.map(([file]) => partOf(file)))] as const);
  return { catalog, partsByText: new Map(partsByText) };
}

function index(locales: readonly string[], parts: readonly string[]): string {
  const byLocale = locales.map((locale) => {
    const imports = parts.map((part) => `${JSON.stringify(part)}: () => import("virtual:catalogue/${locale}/${part}")`);
    return `${JSON.stringify(locale)}: { ${imports.join(", ")} }`;
  });
  return `export const catalogues = { ${byLocale.join(", ")} };`;
}
