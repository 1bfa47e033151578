// SPDX-License-Identifier: Apache-2.0
// Who belongs to an organisation, who is invited to it, and where the user is invited to.
import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";

const EVERYTHING = 200;

export function membersQuery(organisationId: string) {
  return queryOptions({
    queryKey: ["members", organisationId],
    queryFn: async () => {
      const params = { path: { id: organisationId }, query: { limit: EVERYTHING } };
      return (await unwrap(api.GET("/api/v1/organisations/{id}/members", { params }))).results;
    },
  });
}

export function invitationsQuery(organisationId: string) {
  return queryOptions({
    queryKey: ["members", organisationId, "invitations"],
    queryFn: async () => {
      const params = { path: { id: organisationId }, query: { limit: EVERYTHING } };
      return (await unwrap(api.GET("/api/v1/organisations/{id}/invitations", { params }))).results;
    },
  });
}

export const myInvitationsQuery = queryOptions({
  queryKey: ["invitations"],
  queryFn: async () =>
    (await unwrap(api.GET("/api/v1/invitations", { params: { query: { limit: EVERYTHING } } }))).results,
});

export function serviceAccountsQuery(organisationId: string) {
  return queryOptions({
    queryKey: ["members", organisationId, "service accounts"],
    queryFn: async () => {
      const params = { path: { id: organisationId }, query: { limit: EVERYTHING } };
      return (await unwrap(api.GET("/api/v1/organisations/{id}/service-accounts", { params }))).results;
    },
  });
}

export function serviceTokensQuery(accountId: string) {
  return queryOptions({
    queryKey: ["service tokens", accountId],
    queryFn: async () => {
      const params = { path: { id: accountId }, query: { limit: EVERYTHING } };
      return (await unwrap(api.GET("/api/v1/service-accounts/{id}/tokens", { params }))).results;
    },
  });
}

export function serviceAccountDeletionQuery(accountId: string) {
  return queryOptions({
    queryKey: ["service account deletion", accountId],
    queryFn: () => unwrap(api.GET("/api/v1/service-accounts/{id}/deletion", { params: { path: { id: accountId } } })),
    staleTime: 0,
  });
}
