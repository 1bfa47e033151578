// SPDX-License-Identifier: Apache-2.0
// What is in the file with which the dashboard starts: what it imports at once, and of a package's index only what is named.
import { expect, it } from "vitest";

import { importedAtOnce } from "./startChunk.ts";

const CORE = "/mlhub/node_modules/@mantine/core/esm";

it("has what is imported at once, through other modules too, and of an index only what is imported by name", () => {
  const modules: Record<string, { code: string; importedIds: string[] }> = {
    "/mlhub/src/start.tsx": { code: `import "./shell"; const page = () => import("./page");`, importedIds: ["/mlhub/src/shell.tsx"] },
    "/mlhub/src/shell.tsx": { code: `import { Button, rem as toRem } from "@mantine/core";`, importedIds: [`${CORE}/index.mjs`, "/mlhub/src/start.tsx"] },
    "/mlhub/src/page.tsx": { code: `import { Table } from "@mantine/core";`, importedIds: [`${CORE}/index.mjs`] },
    [`${CORE}/index.mjs`]: {
      code: `import { em, rem } from "./core/rem.mjs";\nimport { Table } from "./components/Table.mjs";\nimport { Button } from "./components/Button.mjs";\nexport { Button, Table, em, rem };`,
      importedIds: ["rem", "Table", "Button"].map((name) => `${CORE}/components/${name}.mjs`),
    },
    [`${CORE}/components/Button.mjs`]: { code: `import { Loader } from "./Loader.mjs";`, importedIds: [`${CORE}/components/Loader.mjs`] },
  };
  expect([...importedAtOnce("/mlhub/src/start.tsx", (id) => modules[id] ?? null)].sort()).toEqual([
    "/mlhub/src/shell.tsx",
    "/mlhub/src/start.tsx",
    `${CORE}/components/Button.mjs`,
    `${CORE}/components/Loader.mjs`,
    `${CORE}/core/rem.mjs`,
  ].sort());
});
