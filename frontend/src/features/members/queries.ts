// SPDX-License-Identifier: Apache-2.0
// Who belongs to an organisation, who is invited to it, and where the user is invited to.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { ListQuery } from "@/components/table/SearchedList";
import { everyPage } from "@/lib/cursor";

export const membersKey = (organisationId: string) => ["members", organisationId];
export const invitationsKey = (organisationId: string) => ["members", organisationId, "invitations"];
export const serviceAccountsKey = (organisationId: string) => ["members", organisationId, "service-accounts"];

export function readMembers(organisationId: string, query: ListQuery) {
  return unwrap(api.GET("/api/v1/organisations/{id}/members", { params: { path: { id: organisationId }, query } }));
}

export function readInvitations(organisationId: string, query: ListQuery) {
  return unwrap(api.GET("/api/v1/organisations/{id}/invitations", { params: { path: { id: organisationId }, query } }));
}

export function readServiceAccounts(organisationId: string, query: ListQuery) {
  return unwrap(api.GET("/api/v1/organisations/{id}/service-accounts", { params: { path: { id: organisationId }, query } }));
}

/** What a deletion of the organisation with all its data would remove, and the one under way. */
export function organisationContentsQuery(id: string) {
  return queryOptions({
    queryKey: ["organisation contents", id],
    queryFn: () => unwrap(api.GET("/api/v1/organisations/{id}/deletion", { params: { path: { id } } })),
    staleTime: 0,
  });
}

const ASKED_EVERY_MS = 2000;

/** How far a deletion is, asked again and again until it has ended. */
export function deletionQuery(id: string) {
  return queryOptions({
    queryKey: ["organisation deletion", id],
    queryFn: () => unwrap(api.GET("/api/v1/organisation-deletions/{id}", { params: { path: { id } } })),
    refetchInterval: ({ state }) => (state.data?.ended_at ? false : ASKED_EVERY_MS),
  });
}

/** What a deletion of the project with all its data would remove, and the one under way. */
export function projectContentsQuery(id: string) {
  return queryOptions({
    queryKey: ["project contents", id],
    queryFn: () => unwrap(api.GET("/api/v1/projects/{id}/deletion", { params: { path: { id } } })),
    staleTime: 0,
  });
}

/** As deletionQuery, of a project. */
export function projectDeletionQuery(id: string) {
  return queryOptions({
    queryKey: ["project deletion", id],
    queryFn: () => unwrap(api.GET("/api/v1/project-deletions/{id}", { params: { path: { id } } })),
    refetchInterval: ({ state }) => (state.data?.ended_at ? false : ASKED_EVERY_MS),
  });
}

export const myInvitationsQuery = queryOptions({
  queryKey: ["invitations"],
  queryFn: () => everyPage((query) => unwrap(api.GET("/api/v1/invitations", { params: { query } }))),
});

export function serviceTokensQuery(accountId: string) {
  return queryOptions({
    queryKey: ["service tokens", accountId],
    queryFn: () =>
      everyPage((query) => unwrap(api.GET("/api/v1/service-accounts/{id}/tokens", { params: { path: { id: accountId }, query } }))),
  });
}

export function serviceAccountDeletionQuery(accountId: string) {
  return queryOptions({
    queryKey: ["service account deletion", accountId],
    queryFn: () => unwrap(api.GET("/api/v1/service-accounts/{id}/deletion", { params: { path: { id: accountId } } })),
    staleTime: 0,
  });
}
