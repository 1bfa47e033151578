// SPDX-License-Identifier: Apache-2.0
// The words of the API in remedies, as inspection writes them, and those of the page.
import { readFileSync } from "node:fs";

import { expect, it } from "vitest";

import { remedyOnPage } from "@/domain/remedies";

const READERS = "../mlhub/runtime/data/readers";
const WRITTEN = ["tables/choice.py", "npz.py", "image_folder.py", "audio/reader.py", "shard_labels.py"];

it("names the controls of the page", () => {
  expect(remedyOnPage("Name the target: one of age, v1.2, plan. To predict on it only, say targets=none.")).toBe(
    "Choose one under “Target column”: age, v1.2, plan. To predict only, upload it as a new version and tick “It has no targets”.",
  );
  expect(remedyOnPage("Fill in the column label, or remove row 12.")).toBe("Fill in the column label, or remove row 12.");
});

it.each(WRITTEN)("knows the words of %s", (file) => {
  const said = readFileSync(`${READERS}/${file}`, "utf8").match(/[^"]*targets=none[^"]*"/g) ?? [];
  expect(said).not.toEqual([]);
  for (const remedy of said) expect(remedyOnPage(remedy)).not.toContain("targets=none");
});

it("knows how the target is asked for", () => {
  expect(readFileSync(`${READERS}/tables/choice.py`, "utf8")).toContain('f"Name the target: one of {listed}.');
});

it("names them also where the server wrote in Chinese", () => {
  const shown = remedyOnPage("请给出目标：id, price 之一。如果只用于预测，请写 targets=none。");
  expect(shown).toContain("Choose one under “Target column”: id, price.");
  expect(shown).not.toContain("targets=none");
});

it("knows the words of the server's Chinese catalogue", () => {
  const catalogue = readFileSync("../mlhub/locale/zh_Hans/LC_MESSAGES/mlhub.po", "utf8");
  const said = [...catalogue.matchAll(/^msgstr "(.*say targets=none.*|.*请写 targets=none.*)"$/gm)].map(([, text]) => text ?? "");
  expect(said.length).toBeGreaterThan(2);
  for (const remedy of said) expect(remedyOnPage(remedy)).not.toContain("targets=none");
});
