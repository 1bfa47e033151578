// SPDX-License-Identifier: Apache-2.0
// Seeing MLHub as a user, without changing anything: the page loads anew, as theirs.
import { t } from "@lingui/core/macro";

import { api, unwrap } from "@/api/client";
import type { User } from "@/api/types";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { loadPage } from "@/lib/fullLoad";

export function SeeAsUser({ user }: { user: User }) {
  return (
    <ConfirmButton
      label={t`See as user`}
      ariaLabel={t`See as ${user.username}`}
      color="blue"
      title={t`See MLHub as ${user.username}?`}
      text={t`You read what ${user.username} reads, and change nothing. Tokens, secrets and sessions are not shown. It ends by itself; begin and end are in the audit under your name.`}
      dismiss={t`Stay yourself`}
      action={async () => {
        await unwrap(api.POST("/api/v1/users/{id}/impersonation", { params: { path: { id: user.id } } }));
        loadPage("/");
      }}
    />
  );
}
