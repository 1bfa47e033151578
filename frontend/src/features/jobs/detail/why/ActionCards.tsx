// SPDX-License-Identifier: Apache-2.0
// Actions that the policy confirmed: what each gains and costs, and a button that takes it after a confirmation.
import { plural, t } from "@lingui/core/macro";
import { Badge, Group, Paper, SimpleGrid, Text } from "@mantine/core";

import type { AdvisedAction, Job } from "@/api/types";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { useAdvisedAction } from "@/features/jobs/queries";
import { clock, duration, useNow } from "@/lib/time";

interface Props {
  job: Job;
  actions: AdvisedAction[];
  mayAct: boolean;
  waits: boolean;
}

export function ActionCards({ job, actions, mayAct, waits }: Props) {
  if (actions.length === 0) {
    return <Text size="sm">{t`No change that was tried ${waits ? t`starts` : t`ends`} it noticeably earlier.`}</Text>;
  }
  return (
    <SimpleGrid component="ul" cols={{ base: 1, sm: 2 }} spacing="sm" p={0} m={0} aria-label={t`Actions`}>
      {actions.map((action) => (
        <Paper component="li" withBorder p="sm" key={action.sentence} style={{ listStyle: "none" }}>
          <ActionCard job={job} action={action} mayAct={mayAct} waits={waits} />
        </Paper>
      ))}
    </SimpleGrid>
  );
}

function ActionCard({ job, action, mayAct, waits }: Omit<Props, "actions"> & { action: AdvisedAction }) {
  const take = useAdvisedAction(job.id);
  const effect = effectText(action, waits, useNow(10));
  const cost = costText(action);
  return (
    <>
      <Text size="sm" fw={600}>
        {action.sentence}
      </Text>
      <Text size="sm">{effect}</Text>
      <Text size="xs" c="dimmed">
        {cost}
      </Text>
      <Group mt="xs" gap="xs">
        {action.by === "administrator" && <Badge variant="light">{t`An administrator may do this`}</Badge>}
        {action.by === "member" && mayAct && (
          <ConfirmButton
            label={t`Apply`}
            ariaLabel={t`Apply: ${action.sentence}`}
            size="xs"
            color={action.kind === "pause_job" ? "red" : "blue"}
            dismiss={t`Leave it`}
            title={action.sentence}
            text={`${effect} ${cost}`}
            action={() => take.mutateAsync(action)}
          />
        )}
      </Group>
    </>
  );
}

/** "It starts in the next round, 10 min 00 s earlier; predicted finish 14:05." */
function effectText(action: AdvisedAction, waits: boolean, now: number): string {
  const gain = action.gain_s === null ? "" : t`, ${duration(action.gain_s)} earlier`;
  const finish = t`predicted finish ${clock(action.finish_at)}`;
  if (!waits) return t`It ends${gain.replace(",", "")}: ${finish}.`;
  const isDue = action.starts_now || (action.start_at !== null && Date.parse(action.start_at) <= now); // it took a while to compute
  const start = isDue ? t`in the next round` : clock(action.start_at);
  return t`It starts ${start}${gain}; ${finish}.`;
}

function costText({ n_delayed, n_delayed_others: others, delayed_s }: AdvisedAction): string {
  if (n_delayed === 0) return t`No other job ends later.`;
  const whose = others > 0 ? t`, ${others} of other organisations` : "";
  return t`${plural(n_delayed, { one: "# other job", other: "# other jobs" })}${whose} would end later: ${duration(delayed_s)} in sum.`;
}
