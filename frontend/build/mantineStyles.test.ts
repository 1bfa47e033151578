// SPDX-License-Identifier: Apache-2.0
// Components whose styles are not imported: a class that scripts set and no style sheet knows.
import { expect, it } from "vitest";

import { missingStyles } from "./mantineStyles.ts";

const FILES = new Map([
  ["Button.css", new Set(["m_77c9d27d", "m_80f1301b"])],
  ["Tabs.css", new Set(["m_89d60db1"])],
]);

it("names the style files of components that scripts show, unless their classes are in the styles", () => {
  const scripts = 'root: "m_77c9d27d", list: "m_89d60db1"';
  expect(missingStyles(FILES, scripts, ".m_77c9d27d{color:red}")).toEqual(["Tabs.css"]);
  expect(missingStyles(FILES, scripts, ".m_77c9d27d{} .m_89d60db1:hover{}")).toEqual([]);
  expect(missingStyles(FILES, "nothing of Mantine", "")).toEqual([]);
});
