// SPDX-License-Identifier: Apache-2.0
// What the pages of studies read and write.
import { keepPreviousData, queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { Study, StudyAddition, StudyRequest } from "@/api/types";
import type { StudyVerb } from "@/domain/states/studyState";

export const studiesQuery = (filters: { project?: string; cursor?: string }) =>
  queryOptions({
    queryKey: ["studies", filters],
    queryFn: () => unwrap(api.GET("/api/v1/studies", { params: { query: filters } })),
    placeholderData: keepPreviousData,
  });

export const studyQuery = (id: string) =>
  queryOptions({
    queryKey: ["study", id],
    queryFn: () => unwrap(api.GET("/api/v1/studies/{id}", { params: { path: { id } } })),
  });

/** Read again whenever the study has changed. */
export const trialsQuery = (study: Study) =>
  queryOptions({
    queryKey: ["study", study.id, "trials"],
    queryFn: () => unwrap(api.GET("/api/v1/studies/{id}/trials", { params: { path: { id: study.id } } })),
  });

export const importanceQuery = (study: Study) =>
  queryOptions({
    queryKey: ["study", study.id, "importance", study.n_trials, study.state],
    queryFn: () => unwrap(api.GET("/api/v1/studies/{id}/importance", { params: { path: { id: study.id } } })),
    placeholderData: keepPreviousData,
  });

export function useCreateStudy() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: StudyRequest) => unwrap(api.POST("/api/v1/studies", { body })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["studies"] }),
  });
}

export function useStudyAction(id: string) {
  const queries = useQueryClient();
  const params = { params: { path: { id } } };
  const send: Record<StudyVerb, () => Promise<Study>> = {
    pause: () => unwrap(api.POST("/api/v1/studies/{id}/pause", params)),
    resume: () => unwrap(api.POST("/api/v1/studies/{id}/resume", params)),
    stop: () => unwrap(api.POST("/api/v1/studies/{id}/stop", params)),
  };
  return useMutation({
    mutationFn: (verb: StudyVerb) => send[verb](),
    onSettled: () => queries.invalidateQueries({ queryKey: ["study", id] }),
  });
}

export function useExtendStudy(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: StudyAddition) => unwrap(api.POST("/api/v1/studies/{id}/extend", { params: { path: { id } }, body })),
    onSettled: () => queries.invalidateQueries({ queryKey: ["study", id] }),
  });
}

export async function deleteStudy(id: string): Promise<void> {
  await unwrap(api.DELETE("/api/v1/studies/{id}", { params: { path: { id } } }));
}
