// SPDX-License-Identifier: Apache-2.0
// Says that no scheduling rounds are made: jobs that wait wait for the platform then, and not for GPUs.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Alert, Text } from "@mantine/core";

import type { SchedulerStatus } from "@/api/types";
import { Icon } from "@/components/display/Icon";
import { RelativeTime } from "@/components/display/RelativeTime";

type Rounds = SchedulerStatus["rounds"];

const CAUSES: Record<NonNullable<Rounds["cause"]>, string> = {
  loop_away: t`The process that schedules does not run, or hangs.`,
  backend_away: t`The cluster cannot be reached.`,
  rounds_fail: t`Every scheduling round ends with an error, or takes very long.`,
};

export function RoundsAlert({ rounds }: { rounds: Rounds }) {
  if (rounds.cause === null) return null;
  return (
    <Alert color="red" role="alert" icon={<Icon name="alert" />} title={t`Scheduling has stopped`}>
      <Text size="sm" style={{ overflowWrap: "anywhere" }}>
        {rounds.stopped_since !== null && (
          <Trans>
            The last scheduling round was finished <RelativeTime at={rounds.stopped_since} />.
          </Trans>
        )}{" "}
        <Trans>Running jobs continue; nothing is started, resized or stopped until rounds are made again.</Trans> {CAUSES[rounds.cause]} {rounds.message}
      </Text>
    </Alert>
  );
}
