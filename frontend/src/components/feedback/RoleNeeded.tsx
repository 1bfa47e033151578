// SPDX-License-Identifier: Apache-2.0
// Why a person cannot do something in an organisation or a project: which role it needs, which one is theirs, and who can give it.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Text } from "@mantine/core";
import { queryOptions, useQuery } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import { readRoles, rolesKey } from "@/api/tenants/roles";
import { roleIn, ROLES, useMe } from "@/api/session";
import type { OrganisationBrief, ProjectBrief, Role } from "@/api/types";

const MAX_NAMES = 5;
const GIVERS: Role[] = ["owner", "admin"];

interface Person {
  user: { username: string };
  role: Role;
}

const peopleQuery = (organisationId: string) =>
  queryOptions({
    queryKey: ["members", organisationId, "givers"],
    queryFn: async () => {
      const params = { path: { id: organisationId }, query: { role: GIVERS, limit: 50 } };
      return (await unwrap(api.GET("/api/v1/organisations/{id}/members", { params }))).results;
    },
    staleTime: 60_000,
  });

const peopleOfProjectQuery = (projectId: string) =>
  queryOptions({
    queryKey: [...rolesKey("projects", projectId), "givers"],
    queryFn: async () => (await readRoles("projects", projectId, { role: GIVERS, limit: 50 })).results,
    staleTime: 60_000,
  });

interface Props {
  organisation: OrganisationBrief;
  /** Where the role is needed; left out: in the organisation. */
  project?: ProjectBrief;
  role: Role;
  /** What the role is needed for, as the beginning of a sentence: "Uploading versions". */
  action: string;
}

/** Nothing for those who have the role, and for administrators of the platform. */
export function RoleNeeded({ organisation, project, role, action }: Props) {
  const me = useMe();
  const inOrganisation = me.memberships.find((membership) => membership.organisation.id === organisation.id)?.role;
  const own = project === undefined ? inOrganisation : roleIn(me, project);
  const isMissing = !me.is_staff && (own === undefined || ROLES.indexOf(own) > ROLES.indexOf(role));
  const members = useQuery({ ...peopleQuery(organisation.id), enabled: isMissing && own !== undefined && project === undefined });
  const inProject = useQuery({ ...peopleOfProjectQuery(project?.id ?? ""), enabled: isMissing && own !== undefined && project !== undefined });
  if (!isMissing) return null;
  const people: Person[] | undefined = project === undefined ? members.data : inProject.data;
  // an admin gives roles up to admin, an owner all
  const givers = (people ?? []).filter((each) => each.role === "owner" || (each.role === "admin" && role !== "owner"));
  const names = givers.slice(0, MAX_NAMES).map(({ user, role: theirs }) => `${user.username} (${theirs})`);
  const who = names.length > 0 ? names.join(", ") : t`an administrator of MLHub`;
  const place = project === undefined ? organisation.name : `${organisation.name} / ${project.name}`;
  return (
    <Text size="sm" c="dimmed" role="note">
      <Trans>
        {action} needs the role {role} in {place}; yours is {own ?? t`none`}.
        {(people !== undefined || own === undefined) && t` Ask ${who} for it.`}
      </Trans>
    </Text>
  );
}
