// SPDX-License-Identifier: Apache-2.0
// Where the dashboard's texts are collected: English stands in the code, each other language in src/locales/.
import { defineConfig } from "@lingui/cli";
import { formatter } from "@lingui/format-po";
import { createSwcExtractor } from "@lingui/native-tools";

export default defineConfig({
  sourceLocale: "en",
  locales: ["zh-CN"],
  catalogs: [{ path: "<rootDir>/src/locales/{locale}", include: ["src"], exclude: ["**/*.test.*", "src/testing/**"] }],
  format: formatter({ origins: false, lineNumbers: false }),
  orderBy: "message",
  extractors: [createSwcExtractor()],
});
