// SPDX-License-Identifier: Apache-2.0
// A move in the queue, simulated first: which priority it takes, and what it costs whom. Nothing happens until that is given.
import { t } from "@lingui/core/macro";
import { Button, Group, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";

import type { SimulatedMove } from "@/api/types";
import { QueryResult } from "@/components/feedback/QueryResult";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { number } from "@/lib/quantities";

import { EffectTable } from "../EffectTable";
import { effectsText } from "../effects";
import { givePriority, moveQuery } from "../queries";
import type { Move } from "./move";

interface Props {
  move: Move;
  onClose: () => void;
  onMoved: (answer: SimulatedMove) => void;
}

export function MoveForm({ move, onClose, onMoved }: Props) {
  const simulation = useQuery(moveQuery(move));
  return (
    <QueryResult of={simulation}>
      {(answer) => <Answer move={move} answer={answer} onClose={onClose} onMoved={() => onMoved(answer)} />}
    </QueryResult>
  );
}

function Answer({ move, answer, onClose, onMoved }: { move: Move; answer: SimulatedMove; onClose: () => void; onMoved: () => void }) {
  const queries = useQueryClient();
  const { priority } = answer;
  const give = useMutation({ mutationFn: () => givePriority(queries, move.job.id, priority), onSuccess: onMoved });
  return (
    <Stack gap="sm">
      <Text size="sm" role="status">
        {placeText(move, answer)}
      </Text>
      <Text size="sm" fw={500}>
        {effectsText(answer.effects)}
      </Text>
      <EffectTable effects={answer.effects} />
      <Text size="xs" c="dimmed">
        {t`The policy ${answer.policy} decided with and without the move, in ${number(Math.round(answer.decide_ms))} ms. Nothing was changed yet.`}
      </Text>
      <ProblemAlert error={give.error} />
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose}>
          {t`Leave it there`}
        </Button>
        {priority !== answer.present_priority && (
          <Button loading={give.isPending} onClick={() => give.mutate()}>
            {t`Give it priority ${priority}`}
          </Button>
        )}
      </Group>
    </Stack>
  );
}

function placeText({ job, neighbour, side }: Move, { is_reached, present_priority, priority, present_place, place }: SimulatedMove): string {
  const change = t`With priority ${priority} instead of ${present_priority} ${job.name} would be at place ${place} instead of ${present_place}.`;
  if (is_reached) return change;
  const refusal = side === "before" ? t`No priority brings it before ${neighbour.name}: to the policy other things count for more.` : t`No priority brings it behind ${neighbour.name}: to the policy other things count for more.`;
  return priority === present_priority ? refusal : `${refusal} ${change}`;
}
