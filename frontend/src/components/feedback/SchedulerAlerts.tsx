// What is wrong with the scheduler, if anything is: machines that are away, a policy that fails, its stand-in.
import { Alert, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";

import type { SchedulerStatus } from "@/api/types";
import { Icon } from "@/components/display/Icon";
import { RelativeTime } from "@/components/display/RelativeTime";

export function hasSchedulerProblem({ backend_away_since, stands_in_since, n_failures }: SchedulerStatus): boolean {
  return backend_away_since !== null || stands_in_since !== null || n_failures > 0;
}

export function SchedulerAlerts({ status }: { status: SchedulerStatus }) {
  const { failure } = status;
  return (
    <Stack gap="xs">
      {status.backend_away_since !== null && (
        <Trouble title="The machines cannot be reached">
          Since <RelativeTime at={status.backend_away_since} />. What runs goes on; nothing is started or stopped until they are
          back. {status.backend_message}
        </Trouble>
      )}
      {status.stands_in_since !== null && (
        <Trouble title={`${status.policy} stands in for ${status.chosen_policy}`}>
          {status.chosen_policy} failed several times in a row, so {status.policy} decides since{" "}
          <RelativeTime at={status.stands_in_since} />; the other is tried again by itself, or when the settings change.{" "}
          {failure?.message}
        </Trouble>
      )}
      {status.stands_in_since === null && status.n_failures > 0 && (
        <Trouble title="The last scheduling round failed">
          What was decided before stands. {failure && `${failure.policy}: ${failure.message}`}
        </Trouble>
      )}
    </Stack>
  );
}

function Trouble({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Alert color="orange" role="alert" icon={<Icon name="alert" />} title={title}>
      <Text size="sm" style={{ overflowWrap: "anywhere" }}>
        {children}
      </Text>
    </Alert>
  );
}
