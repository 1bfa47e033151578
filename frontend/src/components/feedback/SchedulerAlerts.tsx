// SPDX-License-Identifier: Apache-2.0
// What is wrong with the scheduler, if anything: an unreachable cluster, a policy that fails, its fallback.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Alert, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { SchedulerStatus } from "@/api/types";
import { Icon } from "@/components/display/Icon";
import { RelativeTime } from "@/components/display/RelativeTime";

export function hasSchedulerProblem({ backend_away_since, fallback_since, n_failures }: SchedulerStatus): boolean {
  return backend_away_since !== null || fallback_since !== null || n_failures > 0;
}

export function SchedulerAlerts({ status }: { status: SchedulerStatus }) {
  const { failure } = status;
  return (
    <Stack gap="xs">
      {status.backend_away_since !== null && (
        <Problem title={t`The cluster cannot be reached`}>
          <Trans>
            Since <RelativeTime at={status.backend_away_since} />. Running jobs continue; nothing is started or stopped until it is
            reachable again. {status.backend_message}
          </Trans>
        </Problem>
      )}
      {status.fallback_since !== null && (
        <Problem title={t`Fallback policy ${status.policy} is active`}>
          <Trans>
            The policy {status.chosen_policy} failed several times in a row, so {status.policy} has decided since{" "}
            <RelativeTime at={status.fallback_since} />. {status.chosen_policy} is retried automatically, and when the
            settings change.{" "}
            {failure?.message}
          </Trans>
        </Problem>
      )}
      {status.fallback_since === null && status.n_failures > 0 && (
        <Problem title={t`The last scheduling round failed`}>
          <Trans>
            Earlier decisions stay in force. {failure && `${failure.policy}: ${failure.message}`}
          </Trans>
        </Problem>
      )}
    </Stack>
  );
}

function Problem({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Alert color="orange" role="alert" icon={<Icon name="alert" />} title={title}>
      <Text size="sm" style={{ overflowWrap: "anywhere" }}>
        {children}
      </Text>
    </Alert>
  );
}
