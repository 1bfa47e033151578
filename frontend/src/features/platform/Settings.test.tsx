// SPDX-License-Identifier: Apache-2.0
// The settings of the installation: a group at a time, each with its words, its value as people write it, and its variable.
import { screen, within } from "@testing-library/react";
import { beforeEach, expect, it } from "vitest";

import type { PlatformSetting } from "@/api/types";
import { me } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { answers, server } from "@/testing/server";

const SETTINGS: PlatformSetting[] = [
  { group: "features", name: "MLHUB_EMAIL_URL", kind: "switch", value: "off" },
  { group: "features", name: "MLHUB_DATA_FOLDERS", kind: "text", value: "/nfs/a, /nfs/b" },
  { group: "features", name: "MLHUB_DATA_ALLOW", kind: "text", value: "" },
  { group: "sign_in", name: "MLHUB_IMPERSONATION_MINUTES", kind: "seconds", value: "1800" },
  { group: "limits", name: "MLHUB_MAX_UPLOAD_BYTES", kind: "bytes", value: "4294967296" },
  { group: "retention", name: "MLHUB_KEEP_LOGS_DAYS", kind: "days", value: "90" },
  { group: "retention", name: "MLHUB_KEEP_EVENTS_DAYS", kind: "days", value: "0" },
];

beforeEach(() => server.use(answers("/api/v1/auth/me", me({ is_staff: true })), answers("/api/v1/platform/settings", { settings: SETTINGS })));

it("shows a group at a time, which the address keeps", async () => {
  const { user, router } = renderPage("/platform");
  const table = within(await screen.findByRole("table", { name: "Settings" }));
  const rows = () => table.getAllByRole("row").slice(1).map((row) => within(row).getAllByRole("cell").map((cell) => cell.textContent));
  expect(rows()).toEqual([
    ["Mail server", "off", "MLHUB_EMAIL_URL"],
    ["Data by reference: folders of the site", "/nfs/a, /nfs/b", "MLHUB_DATA_FOLDERS"],
    ["Data by reference: hosts inside the site", "not set", "MLHUB_DATA_ALLOW"],
  ]);
  await user.click(screen.getByRole("radio", { name: "Retention" }));
  expect(rows()).toEqual([
    ["Logs", "90 days", "MLHUB_KEEP_LOGS_DAYS"],
    ["Events and the audit", "for good", "MLHUB_KEEP_EVENTS_DAYS"],
  ]);
  expect(router.state.location.search).toBe("?settings=retention");
});

it("writes sizes and times as people do", async () => {
  renderPage("/platform?settings=limits");
  expect(await screen.findByRole("row", { name: /^An upload in one request 4 GiB/ })).toBeVisible();
});
