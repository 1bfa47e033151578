// SPDX-License-Identifier: Apache-2.0
// What an account made and what stays when it is deleted, counted in words: "1 dataset".
import { plural, t } from "@lingui/core/macro";

import type { UserDeletion } from "@/api/types";

/** The API's words for the kinds of what accounts make, in the reader's language. */
export function remainderText({ kind, n, n_running }: UserDeletion["remains"][number]): string {
  switch (kind) {
    case "datasets":
      return plural(n, { one: "# dataset", other: "# datasets" });
    case "dataset versions":
      return plural(n, { one: "# dataset version", other: "# dataset versions" });
    case "models":
      return plural(n, { one: "# model", other: "# models" });
    case "model versions":
      return plural(n, { one: "# model version", other: "# model versions" });
    case "logged models":
      return plural(n, { one: "# logged model", other: "# logged models" });
    case "jobs":
      return jobsText(plural(n, { one: "# job", other: "# jobs" }), n_running);
    case "studies":
      return plural(n, { one: "# study", other: "# studies" });
    case "runs":
      return plural(n, { one: "# run", other: "# runs" });
    default:
      return `${n} ${kind}`;
  }
}

function jobsText(counted: string, nRunning: number): string {
  if (nRunning === 0) return counted;
  const running = plural(nRunning, { one: "# runs now", other: "# run now" });
  return t`${counted} (${running})`;
}
