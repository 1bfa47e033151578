// SPDX-License-Identifier: Apache-2.0
// Says that no scheduling rounds are made: jobs that wait wait for the platform then, and not for GPUs.
import { Alert, Text } from "@mantine/core";

import type { SchedulerStatus } from "@/api/types";
import { Icon } from "@/components/display/Icon";
import { RelativeTime } from "@/components/display/RelativeTime";

type Rounds = SchedulerStatus["rounds"];

const CAUSES: Record<NonNullable<Rounds["cause"]>, string> = {
  loop_away: "The process that schedules does not run, or hangs.",
  backend_away: "The cluster cannot be reached.",
  rounds_fail: "Every scheduling round ends with an error.",
};

export function RoundsAlert({ rounds }: { rounds: Rounds }) {
  if (rounds.cause === null) return null;
  return (
    <Alert color="red" role="alert" icon={<Icon name="alert" />} title="Scheduling has stopped">
      <Text size="sm" style={{ overflowWrap: "anywhere" }}>
        The last scheduling round was finished <RelativeTime at={rounds.stopped_since} />. Running jobs continue; nothing is
        started, resized or stopped until rounds are made again. {CAUSES[rounds.cause]} {rounds.message}
      </Text>
    </Alert>
  );
}
