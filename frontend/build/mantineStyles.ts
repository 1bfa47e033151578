// SPDX-License-Identifier: Apache-2.0
// A component of Mantine brings its styles along, if they are not those that src/app/mantine.css has for every page: the
// styles of what only some pages show are loaded with them. The build fails when the styles of a component are nowhere.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

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

const BASE = "src/app/mantine.css";

export function mantineStyles(): Plugin {
  let folder = "";
  let base = "";
  let isBuild = false;
  return {
    name: "mlhub:mantine-styles",
    enforce: "pre",
    configResolved(config) {
      folder = join(config.root, "node_modules/@mantine/core/styles");
      base = readFileSync(join(config.root, BASE), "utf8");
      isBuild = config.command === "build";
    },
    transform: {
      filter: { id: /@mantine\/core\/.*\.module\.mjs$/ },
      handler(code, id) {
        const file = `${basename(id, ".module.mjs")}.css`;
        if (base.includes(`/${file}"`) || !existsSync(join(folder, file))) return null;
        return { code: `import "@mantine/core/styles/${file}";\n${code}`, map: null, moduleSideEffects: true };
      },
    },
    load: {
      filter: { id: /\/src\/app\/mantine\.css$/ },
      // the development server bundles Mantine before
      handler: () => (isBuild ? null : '@import "@mantine/core/styles.css";'),
    },
    writeBundle(_, bundle) {
      const output = Object.values(bundle);
      const scripts = output.map((file) => (file.type === "chunk" ? file.code : "")).join("\n");
      const styles = output.map((file) => (file.type === "asset" && file.fileName.endsWith(".css") ? String(file.source) : ""));
      const missing = missingStyles(styleFiles(folder), scripts, styles.join("\n"));
      if (missing.length > 0) this.error(`No style has the classes of Mantine's ${missing.join(", ")}: import it in ${BASE}.`);
    },
  };
}
