// SPDX-License-Identifier: Apache-2.0
// All that a module imports at once is one file. Of the dashboard's start it would else be some fifty, one for each set of pages
// that share a module, and every page waits for all of them before it shows anything.
import { posix } from "node:path";

/** The index of a package whose modules are taken one by one, by the names that are imported. */
const INDEX = /\/node_modules\/(@mantine\/(?:core|hooks))\/esm\/index\.mjs$/;
const IMPORT = /\bimport\s*\{([^}]*)\}\s*from\s*["']([^"']+)["']/g;

export interface ModuleText {
  code: string | null;
  importedIds: readonly string[];
}

type TextOf = (id: string) => ModuleText | null;

/** `start` and all that it imports at once, by itself or through others; of an index, what is imported from it by name. */
export function importedAtOnce(start: string, textOf: TextOf): Set<string> {
  const found = new Set<string>();
  const waiting = [start];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (found.has(id)) continue;
    found.add(id);
    const { code = null, importedIds = [] } = textOf(id) ?? {};
    for (const imported of importedIds) {
      const [, name] = INDEX.exec(imported) ?? [];
      if (name === undefined) waiting.push(imported);
      else waiting.push(...behindIndex(imported, namesFrom(name, code ?? ""), textOf(imported)?.code ?? ""));
    }
  }
  return found;
}

/** The names that `code` imports from a package. */
function namesFrom(name: string, code: string): Set<string> {
  const lists = [...code.matchAll(IMPORT)].filter(([, , source]) => source === name);
  return new Set(lists.flatMap(([, list = ""]) => list.split(",").map((each) => each.trim().split(/\s+/)[0] ?? "")));
}

/** The modules from which the index, whose code is given, has the names. */
function behindIndex(index: string, names: ReadonlySet<string>, code: string): string[] {
  const lists = [...code.matchAll(IMPORT)].filter(([, list = ""]) => list.split(",").some((each) => names.has(each.trim())));
  return lists.map(([, , source = ""]) => posix.join(posix.dirname(index), source));
}

/** The name of the file for the modules that `root` imports at once; null for all others. */
export function chunkOf(name: string, root: string): (id: string, context: { getModuleInfo: TextOf }) => string | null {
  const start = posix.join(import.meta.dirname, "..", root);
  let modules: Set<string> | null = null;
  return (id, context) => {
    modules ??= importedAtOnce(start, (of) => context.getModuleInfo(of));
    return modules.has(id) && id !== start ? name : null;
  };
}
