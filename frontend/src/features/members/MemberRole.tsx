// SPDX-License-Identifier: Apache-2.0
// A member's role in the organisation, which its admins change here; one's own, and one that groups give, are only shown.
import { t } from "@lingui/core/macro";
import { NativeSelect } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";

import { api, unwrap } from "@/api/client";
import { useMe } from "@/api/session";
import type { Membership, Role } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { rolesGivenBy } from "@/domain/role";

/** mine: the reader's own role in the organisation. */
export function MemberRole({ member, mine }: { member: Membership; mine: Role }) {
  const queries = useQueryClient();
  const isMe = useMe().id === member.user.id;
  const change = useMutation({
    mutationFn: (role: Role) =>
      unwrap(api.PATCH("/api/v1/memberships/{id}", { params: { path: { id: member.id } }, body: { role } })),
    onSuccess: () => queries.invalidateQueries(),
  });
  const mayChange = mine === "owner" || (mine === "admin" && member.role !== "owner");
  if (!mayChange || isMe || member.from_groups) {
    return (
      <>
        {member.role}
        {member.from_groups && t` (by group)`}
      </>
    );
  }
  return (
    <>
      <NativeSelect
        size="xs"
        maw={150}
        aria-label={t`Role of ${member.user.username}`}
        value={change.isPending ? change.variables : member.role}
        disabled={change.isPending}
        onChange={(event) => change.mutate(event.currentTarget.value as Role)}
        data={rolesGivenBy({ isOwner: mine === "owner" }).map(({ value }) => value)}
      />
      <ProblemAlert error={change.error} />
    </>
  );
}
