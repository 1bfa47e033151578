// SPDX-License-Identifier: Apache-2.0
// A cluster without nodes: administrators look at what keeps them away, everybody else at what waits for them.
import { t } from "@lingui/core/macro";
import { Button } from "@mantine/core";
import { Suspense } from "react";
import { Link } from "react-router";

import { isStaff, useMe } from "@/api/session";
import { EmptyState } from "@/components/feedback/EmptyState";
import { lazyComponent } from "@/lib/chunk";

const AddMachine = lazyComponent(async () => (await import("./machines/AddMachine")).AddMachine);

export function NoNodes({ backend = "" }: { backend?: string }) {
  const isAdministrator = isStaff(useMe());
  if (isAdministrator && backend === "agents") {
    return (
      <EmptyState
        title={t`No nodes yet`}
        text={t`Add a machine: it becomes a node as soon as its agent runs.`}
        action={
          <Suspense fallback={null}>
            <AddMachine />
          </Suspense>
        }
      />
    );
  }
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
