// SPDX-License-Identifier: Apache-2.0
// The sample job: a small table made here is uploaded as anybody's would be, and a built-in model is trained on it.
import { t } from "@lingui/core/macro";

import { api, unwrap } from "@/api/client";
import type { Dataset, Job, Project } from "@/api/types";
import { upload } from "@/api/uploads/upload";

const SAMPLE = "two-moons-sample";
const MODEL = "mlp";
const N_ROWS = 600;
const ASKED_EVERY_MS = 1_000;
const LONGEST_MS = 10 * 60_000;

/** Two half circles that reach into each other, with noise; always the same rows. */
export function sampleCsv(): string {
  let seed = 7;
  const chance = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed / 2_147_483_648;
  };
  const rows = Array.from({ length: N_ROWS }, (_, n) => {
    const angle = Math.PI * chance();
    const isUpper = n % 2 === 0;
    const x = isUpper ? Math.cos(angle) : 1 - Math.cos(angle);
    const y = isUpper ? Math.sin(angle) : 0.5 - Math.sin(angle);
    const noise = () => 0.2 * (chance() - 0.5);
    return `${(x + noise()).toFixed(4)},${(y + noise()).toFixed(4)},${isUpper ? "upper" : "lower"}`;
  });
  return ["across,up,moon", ...rows].join("\n") + "\n";
}

/** Uploads the sample to the project unless it is there, waits until it is inspected, and starts the job. */
export async function trainSample(project: Project, onStep: (text: string) => void): Promise<Job> {
  onStep(t`Uploading a table of 600 rows…`);
  const dataset = (await known(project)) ?? (await uploaded(project));
  onStep(t`Waiting until the data are inspected…`);
  await inspected(dataset.id);
  onStep(t`Starting the job…`);
  const body = {
    project: project.id,
    dataset: dataset.id,
    model: MODEL,
    name: t`Sample: two moons`,
    epochs: 60,
    batch_size: 32,
    max_workers: 2,
  };
  return unwrap(api.POST("/api/v1/jobs", { body }));
}

async function known(project: Project): Promise<Dataset | undefined> {
  const query = { project: project.id, name: SAMPLE };
  return (await unwrap(api.GET("/api/v1/datasets", { params: { query } }))).results[0];
}

function uploaded(project: Project): Promise<Dataset> {
  const file = new File([sampleCsv()], "two-moons.csv", { type: "text/csv" });
  const fields = { file, name: SAMPLE, project: project.id, format: "csv", target: "moon", description: t`Made by the first page.` };
  return upload<Dataset>("/api/v1/datasets", fields, () => undefined).done;
}

async function inspected(id: string): Promise<void> {
  const until = Date.now() + LONGEST_MS;
  while (Date.now() < until) {
    const { latest_version: version } = await unwrap(api.GET("/api/v1/datasets/{id}", { params: { path: { id } } }));
    if (version?.state === "ready") return;
    if (version?.state === "refused") throw new Error(version.error?.message ?? "The sample was refused.");
    await new Promise((resolve) => setTimeout(resolve, ASKED_EVERY_MS));
  }
  throw new Error("The data have not been inspected for ten minutes: the platform's workers are busy or stopped.");
}
