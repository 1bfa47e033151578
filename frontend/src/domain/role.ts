// SPDX-License-Identifier: Apache-2.0
// Roles in an organisation, the smallest first, with what each may do. The type fails until a new one is here.
import { t } from "@lingui/core/macro";

import type { Role } from "@/api/types";

const TEXTS: Record<Role, string> = {
  outsider: t`Outsider: sees only the projects and teams where a role is given`,
  viewer: t`Viewer: sees everything`,
  auditor: t`Auditor: sees everything, also from where things were done`,
  submitter: t`Submitter: runs jobs of the data and models that are there`,
  member: t`Member: uploads, and runs jobs`,
  admin: t`Admin: manages members and all jobs`,
  owner: t`Owner: may do everything`,
};

/** Those that a person of this role may give; only owners make owners. */
export function rolesGivenBy({ isOwner }: { isOwner: boolean }): { value: Role; label: string }[] {
  const roles = Object.keys(TEXTS) as Role[];
  return roles.filter((role) => isOwner || role !== "owner").map((value) => ({ value, label: TEXTS[value] }));
}
