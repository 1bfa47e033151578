// SPDX-License-Identifier: Apache-2.0
// Who is signed in, what they belong to, and what they may do.
import { queryOptions, useQuery } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import type { Me, OrganisationBrief, Role } from "@/api/types";

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

/** Of every query of projects. */
export const projectsKey = ["projects"];

/** The person signed in. Only inside the signed-in shell, which waits until it is known. */
export function useMe(): Me {
  const { data } = useQuery(meQuery);
  if (data === undefined) throw new Error("useMe is for pages inside the signed-in shell.");
  return data;
}

export function isStaff(me: Me): boolean {
  return me.is_staff;
}

/** Whether this person answers for an organisation, or for the platform. */
export function isAdminSomewhere(me: Me): boolean {
  return me.is_staff || me.memberships.some(({ role }) => role === "admin" || role === "owner");
}

/** The organisations that this person sees as a whole; an outsider sees projects of one alone. */
export function seenOrganisations(me: Me): OrganisationBrief[] {
  return me.memberships.filter(({ role }) => role !== "outsider").map(({ organisation }) => organisation);
}

/** A project, as far as one's role in it depends on it. */
interface Place {
  id: string;
  organisation: OrganisationBrief;
}

/** The greatest first. */
export const ROLES: Role[] = ["owner", "admin", "member", "submitter", "auditor", "viewer", "outsider"];
/** Of those who may add to an organisation, such as a project. */
export const WRITING: Role[] = ["owner", "admin", "member"];
const WRITES: (Role | undefined)[] = WRITING;
const SUBMITS: (Role | undefined)[] = [...WRITES, "submitter"];
/** Of those who answer for an organisation. */
export const LEADING: Role[] = ["owner", "admin"];
const LEADS: (Role | undefined)[] = LEADING;

/** The role in a project: the greatest of those in its organisation, its team and the project itself. */
export function roleIn(me: Me, project: Place): Role | undefined {
  const own = me.memberships.find(({ organisation }) => organisation.id === project.organisation.id)?.role;
  const bound = me.project_roles.find((one) => one.project === project.id)?.role;
  return ROLES.find((role) => role === own || role === bound);
}

/** Whether this person answers for the project: an admin of it or of what is above, or staff. */
export function isAdminOf(me: Me, project: Place): boolean {
  return me.is_staff || LEADS.includes(roleIn(me, project));
}

/** Whether this person may delete data or a model that somebody made there: the maker may, and admins, owners and staff. */
export function canDelete(me: Me, project: Place, maker: { id: string }): boolean {
  return isAdminOf(me, project) || (roleIn(me, project) === "member" && maker.id === me.id);
}

/** Whether this person may change, stop and delete a job or a study there: who submitted it may, and admins, owners and staff. */
export function canChangeJob(me: Me, project: Place, submitter: { id: string }): boolean {
  return isAdminOf(me, project) || (canSubmit(me, project) && submitter.id === me.id);
}

/** Whether this person may submit jobs of the data and models that are there: a submitter or above, or staff. */
export function canSubmit(me: Me, project: Place): boolean {
  return me.is_staff || SUBMITS.includes(roleIn(me, project));
}

/** Whether this person may upload to the project and change things of it: a member or above, or staff. */
export function canWrite(me: Me, project: Place): boolean {
  return me.is_staff || WRITES.includes(roleIn(me, project));
}

/** Whether this person may upload to projects of an organisation, all or some: then also steer the builds of packages there. */
export function canWriteIn(me: Me, organisation: { id: string }): boolean {
  const own = me.memberships.find((membership) => membership.organisation.id === organisation.id)?.role;
  return me.is_staff || WRITES.includes(own) || (own !== undefined && me.project_roles.some(({ role }) => WRITES.includes(role)));
}
