// SPDX-License-Identifier: Apache-2.0
// Every text is in the catalogue of the part that shows it, and once where all parts have it.
import { expect, it } from "vitest";

import { messagesOf, partOf } from "./catalogues.ts";

it("takes a text that is common, too, as a common one only", () => {
  const parts = new Map([
    ["save", new Set(["common", "jobs"])],
    ["cancel", new Set(["jobs", "models"])],
    ["sign in", new Set(["session"])],
  ]);
  const messages = { save: "保存", cancel: "取消", "sign in": "登录" };
  expect(messagesOf("common", parts, messages)).toEqual({ save: "保存" });
  expect(messagesOf("jobs", parts, messages)).toEqual({ cancel: "取消" });
  expect(messagesOf("models", parts, messages)).toEqual({ cancel: "取消" });
});

it("knows the feature of a file", () => {
  expect(partOf("src/features/jobs/list/JobsPage.tsx")).toBe("jobs");
  expect(partOf("src/components/feedback/Loading.tsx")).toBe("common");
});
