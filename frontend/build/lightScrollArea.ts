// SPDX-License-Identifier: Apache-2.0
// Mantine's ScrollArea, which every table brings along, takes one small hook of @floating-ui/react, which is one file of
// 15 kB compressed: it gets the same hook of @mantine/hooks, so that only pages that place something load the large one.
import type { Plugin } from "vite";

const LARGE = "@floating-ui/react";
const SCROLL_AREA = /@mantine\/core\/esm\/components\/ScrollArea\/ScrollArea\.mjs$/;
const REPLACEMENT = "\0mlhub:merge-refs";
const CODE = `import { useMergedRef } from "@mantine/hooks";
export const useMergeRefs = (refs) => useMergedRef(...refs);`;

export function lightScrollArea(): Plugin {
  let isReplaced = false;
  return {
    name: "mlhub:light-scroll-area",
    apply: "build",
    enforce: "pre",
    resolveId(source, importer) {
      if (source !== LARGE || importer === undefined || !SCROLL_AREA.test(importer)) return null;
      isReplaced = true;
      return REPLACEMENT;
    },
    load: (id) => (id === REPLACEMENT ? CODE : null),
    buildEnd(error) {
      if (error === undefined && !isReplaced) this.error(`ScrollArea no longer imports ${LARGE}: remove build/lightScrollArea.ts.`);
    },
  };
}
