// SPDX-License-Identifier: Apache-2.0
// Actions that the policy confirmed: what each gains and costs, and a button that takes it after a confirmation.
import { Badge, Group, Paper, SimpleGrid, Text } from "@mantine/core";

import type { AdvisedAction, Job } from "@/api/types";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { useAdvisedAction } from "@/features/jobs/queries";
import { count } from "@/lib/quantities";
import { clock, duration } from "@/lib/time";

interface Props {
  job: Job;
  actions: AdvisedAction[];
  mayAct: boolean;
  waits: boolean;
}

export function ActionCards({ job, actions, mayAct, waits }: Props) {
  if (actions.length === 0) {
    return <Text size="sm">No change that was tried {waits ? "starts" : "ends"} it noticeably earlier.</Text>;
  }
  return (
    <SimpleGrid component="ul" cols={{ base: 1, sm: 2 }} spacing="sm" p={0} m={0} aria-label="Actions">
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
  const effect = effectText(action, waits);
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
        {action.by === "administrator" && <Badge variant="light">An administrator may do this</Badge>}
        {action.by === "member" && mayAct && (
          <ConfirmButton
            label="Apply"
            ariaLabel={`Apply: ${action.sentence}`}
            size="xs"
            color={action.kind === "pause_job" ? "red" : "blue"}
            dismiss="Leave it"
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
function effectText(action: AdvisedAction, waits: boolean): string {
  const gain = action.gain_s === null ? "" : `, ${duration(action.gain_s)} earlier`;
  const finish = `predicted finish ${clock(action.finish_at)}`;
  if (!waits) return `It ends${gain.replace(",", "")}: ${finish}.`;
  const start = action.starts_now ? "in the next round" : clock(action.start_at);
  return `It starts ${start}${gain}; ${finish}.`;
}

function costText({ n_delayed, n_delayed_others: others, delayed_s }: AdvisedAction): string {
  if (n_delayed === 0) return "No other job ends later.";
  const whose = others > 0 ? `, ${others} of other organisations` : "";
  return `${count(n_delayed, "other job")}${whose} would end later: ${duration(delayed_s)} in sum.`;
}
