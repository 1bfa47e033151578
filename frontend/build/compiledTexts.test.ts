// SPDX-License-Identifier: Apache-2.0
// Texts in the code are compiled by the build, and only they.
import { expect, it } from "vitest";

import { withCompiledTexts } from "./compiledTexts.ts";

it("compiles texts, plain ones and those with values", () => {
  const code = `const a = i18n._({ id: "yNItcy", message: "Hi {name}", values: { name } }), b = jsx(Trans, { id: "mB-3fy", message: 'A "plain" one' });`;
  expect(withCompiledTexts(code)).toBe(
    `const a = i18n._({ id: "yNItcy", message: ["Hi ",["name"]], values: { name } }), b = jsx(Trans, { id: "mB-3fy", message: ["A \\"plain\\" one"] });`,
  );
});

it("leaves what only looks like a text", () => {
  const code = `show({ id: "connection-lost", message: "{n, plural}" }); show({ message: "No id" }); show({ id: "abcdef", message: text });`;
  expect(withCompiledTexts(code)).toBe(code);
});
