// SPDX-License-Identifier: Apache-2.0
// Each catalogue has a translation of every text in the code, with the same placeholders, and no other.
import { getConfig } from "@lingui/conf";
import { getCatalogs } from "@lingui/cli/api";
import { expect, it } from "vitest";

const config = getConfig({ configPath: "lingui.config.ts" });
const [catalog] = await getCatalogs(config);
if (catalog === undefined) throw new Error("lingui.config.ts names no catalogue.");
const texts = (await catalog.collect({ files: undefined })) ?? {};
const REMEDY = "Run `npm run texts` and translate what is empty in src/locales.";

/** Of "{n, plural, one {# job} other {# jobs}} of <0>{name}</0>": n, name and 0, each once: languages have not the same plurals. */
function placeholders(message: string): string[] {
  const found = [...message.matchAll(/\{(\w+)(?=[,}])|<(\d+)\/?>/g)].map(([, variable, element]) => variable ?? `<${element ?? ""}>`);
  return [...new Set(found)].sort();
}

it.each<string>(config.locales)("%s is complete", async (locale) => {
  const translations = (await catalog.read(locale)) ?? {};
  const missing = Object.keys(texts).filter((id) => !translations[id]?.translation);
  const unused = Object.keys(translations).filter((id) => texts[id] === undefined);
  expect({ missing, unused }, REMEDY).toEqual({ missing: [], unused: [] });
  expect(Object.keys(texts).length).toBeGreaterThan(1000);
});

it.each<string>(config.locales)("%s has the placeholders of the English texts", async (locale) => {
  const translations = (await catalog.read(locale)) ?? {};
  const wrong = Object.entries(texts).filter(([id, { message }]) => {
    const translation = translations[id]?.translation ?? "";
    return String(placeholders(translation)) !== String(placeholders(message ?? ""));
  });
  expect(wrong.map(([, { message }]) => message)).toEqual([]);
});
