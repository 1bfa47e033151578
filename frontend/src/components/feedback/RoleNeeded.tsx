// SPDX-License-Identifier: Apache-2.0
// Why a person cannot do something in an organisation: which role it needs, which one is theirs, and who can give it.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Text } from "@mantine/core";
import { queryOptions, useQuery } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import { useMe } from "@/api/session";
import type { OrganisationBrief, Role } from "@/api/types";

const ORDER: Role[] = ["viewer", "member", "admin", "owner"];
const MAX_NAMES = 5;

const peopleQuery = (organisationId: string) =>
  queryOptions({
    queryKey: ["members", organisationId],
    queryFn: async () => {
      const params = { path: { id: organisationId }, query: { limit: 200 } };
      return (await unwrap(api.GET("/api/v1/organisations/{id}/members", { params }))).results;
    },
    staleTime: 60_000,
  });

interface Props {
  organisation: OrganisationBrief;
  role: Role;
  /** What the role is needed for, as the beginning of a sentence: "Uploading versions". */
  action: string;
}

/** Nothing for those who have the role, and for administrators of the platform. */
export function RoleNeeded({ organisation, role, action }: Props) {
  const me = useMe();
  const own = me.memberships.find((membership) => membership.organisation.id === organisation.id)?.role;
  const isMissing = !me.is_staff && (own === undefined || ORDER.indexOf(own) < ORDER.indexOf(role));
  const people = useQuery({ ...peopleQuery(organisation.id), enabled: isMissing && own !== undefined });
  if (!isMissing) return null;
  // an admin gives roles up to admin, an owner all
  const givers = (people.data ?? []).filter((each) => each.role === "owner" || (each.role === "admin" && role !== "owner"));
  const names = givers.slice(0, MAX_NAMES).map(({ user, role: theirs }) => `${user.username} (${theirs})`);
  const who = names.length > 0 ? names.join(", ") : t`an administrator of MLHub`;
  return (
    <Text size="sm" c="dimmed" role="note">
      <Trans>
        {action} needs the role {role} in {organisation.name}; yours is {own ?? t`none`}.
        {(people.data || own === undefined) && t` Ask ${who} for it.`}
      </Trans>
    </Text>
  );
}
