// SPDX-License-Identifier: Apache-2.0
// The bounds that the form knows are those of the API.
import { expect, it } from "vitest";

import openapi from "/openapi.yaml?raw";

import { POD_SETTINGS, podSettingFacts, podSettingOf, podSettings } from "./podSetting";

/** A property's block of lines within a schema of the document. */
function property(schema: string, name: string): string {
  const start = openapi.indexOf(`\n    ${schema}:\n`);
  const end = openapi.slice(start + 1).search(/\n {4}\S/);
  const block = openapi.slice(start, start + 1 + end);
  return block.split(/\n {8}(?=\S)/).find((text) => text.startsWith(`${name}:`)) ?? "";
}

function bound(text: string, which: "minimum" | "maximum"): number {
  return Number(new RegExp(`${which}: (\\S+)`).exec(text)?.[1]);
}

it.each(podSettings)("knows the type and the bounds of %s", (name) => {
  const { group, min, max, isWhole } = POD_SETTINGS[name];
  const text = property(group === "resources" ? "ResourcesRequest" : "LimitsRequest", name);
  expect([bound(text, "minimum"), bound(text, "maximum")]).toEqual([min, max]);
  expect(text).toContain(isWhole ? "type: integer" : "type: number");
});

it("finds the setting of a field of the API", () => {
  expect(podSettingOf("resources.memory_gib")).toBe("memory_gib");
  expect(podSettingOf("limits.memory_gib")).toBeNull();
});

it("lists what was asked for, with units", () => {
  const asked = { resources: { memory_gib: 4, n_servers: 2, gpu_types: ["V100", "T4"] }, limits: { stall_s: 900 } };
  expect(podSettingFacts(asked)).toEqual([
    ["Memory per worker", "4 GiB"],
    ["Parameter servers", "2"],
    ["Stall limit", "15 min 00 s"],
    ["GPU types", "V100, T4"],
  ]);
});
