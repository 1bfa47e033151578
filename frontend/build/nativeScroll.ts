// SPDX-License-Identifier: Apache-2.0
// Mantine's Table and Modal bring along its ScrollArea, 5 kB compressed, also where nobody asks for its scroll bars: they
// scroll with the browser's own. Lists that open keep it.
import type { Plugin } from "vite";

const SCROLL_AREA = "../ScrollArea/ScrollArea.mjs";
const USERS = ["Table/TableScrollContainer", "Modal/ModalRoot"];
const USER = new RegExp(`@mantine/core/esm/components/(${USERS.join("|")})\\.mjs$`);
const REPLACEMENT = "\0mlhub:native-scroll";
const CODE = `import { createElement } from "react";
export const ScrollArea = ({ offsetScrollbars, style, ...others }) => createElement("div", { ...others, style: { overflow: "auto", ...style } });
ScrollArea.Autosize = ScrollArea;`;

export function nativeScroll(): Plugin {
  const replaced = new Set<string | undefined>();
  return {
    name: "mlhub:native-scroll",
    apply: "build",
    enforce: "pre",
    resolveId: {
      filter: { id: /\/ScrollArea\.mjs$/ },
      handler(source, importer) {
        const user = USER.exec(importer ?? "")?.[1];
        if (source !== SCROLL_AREA || user === undefined) return null;
        replaced.add(user);
        return REPLACEMENT;
      },
    },
    load: { filter: { id: /native-scroll$/ }, handler: (id) => (id === REPLACEMENT ? CODE : null) },
    buildEnd(error) {
      const other = USERS.filter((user) => !replaced.has(user));
      if (error === undefined && other.length > 0) this.error(`${other.join(", ")} of Mantine no longer import ScrollArea: mend build/nativeScroll.ts.`);
    },
  };
}
