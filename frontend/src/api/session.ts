// SPDX-License-Identifier: Apache-2.0
// Who is signed in, what they belong to, and what they may do.
import { queryOptions, useQuery } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { Me, Organisation, Project } from "@/api/types";

const EVERYTHING = 200;

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: () => unwrap(api.GET("/api/v1/auth/me")),
  staleTime: 5 * 60_000,
});

/** Whether the platform has no administrator yet, which only its sign-in page asks. */
export const setupQuery = queryOptions({
  queryKey: ["setup"],
  queryFn: () => unwrap(api.GET("/api/v1/auth/setup")),
  staleTime: 60_000,
});

export const projectsQuery = queryOptions({
  queryKey: ["projects"],
  queryFn: async () =>
    (await unwrap(api.GET("/api/v1/projects", { params: { query: { limit: EVERYTHING } } }))).results,
  staleTime: 60_000,
});

export const organisationsQuery = queryOptions({
  queryKey: ["organisations"],
  queryFn: async () =>
    (await unwrap(api.GET("/api/v1/organisations", { params: { query: { limit: EVERYTHING } } }))).results,
  staleTime: 60_000,
});

/** The person signed in. Only inside the signed-in shell, which waits until it is known. */
export function useMe(): Me {
  const { data } = useQuery(meQuery);
  if (data === undefined) throw new Error("useMe is for pages inside the signed-in shell.");
  return data;
}

/** The projects this person sees; empty until they have come. */
export function useProjects(): Project[] {
  return useQuery(projectsQuery).data ?? [];
}

/** The organisations this person sees (staff: all); empty until they have come. */
export function useOrganisations(): Organisation[] {
  return useQuery(organisationsQuery).data ?? [];
}

export function isStaff(me: Me): boolean {
  return me.is_staff;
}

/** Whether this person answers for an organisation, or for the platform. */
export function isAdminSomewhere(me: Me): boolean {
  return me.is_staff || me.memberships.some(({ role }) => role === "admin" || role === "owner");
}

/** Whether this person may delete what somebody made there: the maker may, and admins, owners and staff. */
export function canDelete(me: Me, organisationId: string, maker: { id: string }): boolean {
  const role = me.memberships.find(({ organisation }) => organisation.id === organisationId)?.role;
  return me.is_staff || role === "admin" || role === "owner" || (role === "member" && maker.id === me.id);
}

/** Whether this person may create and change things of the organisation: a member or above, or staff. */
export function canWrite(me: Me, organisationId: string): boolean {
  const membership = me.memberships.find(({ organisation }) => organisation.id === organisationId);
  return me.is_staff || (membership !== undefined && membership.role !== "viewer");
}
