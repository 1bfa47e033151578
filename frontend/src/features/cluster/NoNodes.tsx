// SPDX-License-Identifier: Apache-2.0
// A cluster without nodes: administrators look at what keeps them away, everybody else at what waits for them.
import { t } from "@lingui/core/macro";
import { Button } from "@mantine/core";
import { Link } from "react-router";

import { isStaff, useMe } from "@/api/session";
import { EmptyState } from "@/components/feedback/EmptyState";

export function NoNodes() {
  const isAdministrator = isStaff(useMe());
  return (
    <EmptyState
      title={t`No nodes yet`}
      text={t`As soon as a node joins the cluster it appears here.`}
      action={
        <Button component={Link} to={isAdministrator ? "/platform" : "/queue"} variant="default">
          {isAdministrator ? t`Check the platform` : t`Who waits, and why`}
        </Button>
      }
    />
  );
}
