// SPDX-License-Identifier: Apache-2.0
// The addresses that MLflow's client prints when a run ends ("View run ... at"): those of MLflow's own pages, behind a #.

/** The dashboard's page for what is behind the #; null where that is no address of MLflow. */
export function pageOfMlflow(hash: string): string | null {
  const [path = ""] = hash.replace(/^#/, "").split("?");
  const [kind, name, below, id] = path.replace(/^\//, "").split("/");
  if (!hash.startsWith("#/") || !name) return null;
  if (kind === "experiments") return below === "runs" && id ? `/runs/${id}` : `/runs?project=${name}`;
  return kind === "models" ? "/models" : null;
}
