// SPDX-License-Identifier: Apache-2.0
// The build fails when a component of Mantine is shown whose styles src/app/mantine.css does not import.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { Plugin } from "vite";

/** Mantine names its classes by a hash, such as m_77c9d27d, that its scripts and its styles share. */
const CLASS = /\bm_[0-9a-f]{6,8}\b/g;

/** By the name of a style file of Mantine: the classes that it styles. */
export type StyleFiles = ReadonlyMap<string, ReadonlySet<string>>;

/** The style files whose classes `scripts` use and `styles` do not have, by name. */
export function missingStyles(files: StyleFiles, scripts: string, styles: string): string[] {
  const used = classesOf(scripts);
  const present = classesOf(styles);
  const isMissing = (name: string) => used.has(name) && !present.has(name);
  return [...files].filter(([, classes]) => [...classes].some(isMissing)).map(([file]) => file);
}

function classesOf(text: string): Set<string> {
  return new Set(text.match(CLASS));
}

function styleFiles(folder: string): StyleFiles {
  const names = readdirSync(folder).filter((name) => name.endsWith(".css") && !name.endsWith(".layer.css"));
  return new Map(names.map((name) => [name, classesOf(readFileSync(join(folder, name), "utf8"))]));
}

export function mantineStyles(): Plugin {
  let folder = "";
  return {
    name: "mlhub:mantine-styles",
    apply: "build",
    configResolved(config) {
      folder = join(config.root, "node_modules/@mantine/core/styles");
    },
    writeBundle(_, bundle) {
      const output = Object.values(bundle);
      const scripts = output.map((file) => (file.type === "chunk" ? file.code : "")).join("\n");
      const styles = output.map((file) => (file.type === "asset" && file.fileName.endsWith(".css") ? String(file.source) : ""));
      const missing = missingStyles(styleFiles(folder), scripts, styles.join("\n"));
      if (missing.length > 0) this.error(`src/app/mantine.css does not import ${missing.join(", ")}: add it.`);
    },
  };
}
