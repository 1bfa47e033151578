// SPDX-License-Identifier: Apache-2.0
// The roles that there are in teams and projects, and what each action is called.
import { t } from "@lingui/core/macro";

import type { BoundRole, Permission } from "@/api/types";

export const BOUND_ROLES: BoundRole[] = ["viewer", "submitter", "member", "admin"];

export function roleLabel(role: BoundRole): string {
  return {
    viewer: t`Viewer: sees its jobs, data and models`,
    submitter: t`Submitter: runs jobs of the data and models that are there`,
    member: t`Member: uploads, and runs jobs`,
    admin: t`Admin: manages its jobs, settings and roles`,
  }[role];
}

export function actionText(action: Permission["action"]): string {
  return {
    read: t`See jobs, data and models`,
    submit: t`Submit jobs of the data and models that are there, change one's own jobs`,
    upload: t`Upload data and models, change one's own; secrets`,
    request_quota: t`Ask for more quota`,
    create_projects: t`Create projects`,
    change_others: t`Change and delete what others made`,
    change_own_project: t`Rename it, and delete it while it is empty`,
    change_settings: t`Rename, archive and delete it; its rules of retention`,
    limit_users: t`Limit users within its quota`,
    assign_roles: t`Give and withdraw roles`,
    invite: t`Invite and remove people`,
    manage_teams: t`Manage teams`,
    share_quota: t`Divide its quota among its projects`,
    change_quota: t`Change its own quota`,
    see_origins: t`See from where things were done`,
    create_organisations: t`Create organisations`,
    drain_nodes: t`Drain nodes`,
  }[action];
}
