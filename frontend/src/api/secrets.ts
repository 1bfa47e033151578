// SPDX-License-Identifier: Apache-2.0
// The secrets of a project, by name: their values are never read.
import { api, unwrap } from "@/api/client";

export const secretsKey = (projectId: string) => ["secrets", projectId];

export function readSecrets(projectId: string, query: { search?: string; cursor?: string }) {
  return unwrap(api.GET("/api/v1/projects/{id}/secrets", { params: { path: { id: projectId }, query } }));
}
