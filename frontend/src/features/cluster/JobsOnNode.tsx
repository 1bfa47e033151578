// SPDX-License-Identifier: Apache-2.0
// Which jobs run on a node, and what becomes of each where something is about to happen to them.
import { plural, t } from "@lingui/core/macro";
import { List, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import type { Node } from "@/api/types";
import { TextLink } from "@/components/display/TextLink";
import { jobsOn } from "@/domain/scheduling/capacity";
import { type NodeAction, finishesQuery } from "@/features/cluster/queries";
import { duration, useNow } from "@/lib/time";

interface Props {
  node: Node;
  /** What is about to be done to the node; undefined: its machine is removed, and no job stays. */
  request?: NodeAction;
}

export function JobsOnNode({ node, request }: Props) {
  const { named, nOthers } = jobsOn(node);
  const finishes = useQuery(finishesQuery(named.map(({ id }) => id)));
  const now = useNow(10);
  if (named.length === 0 && nOthers === 0) return <Text size="sm">{t`No job runs there.`}</Text>;
  return (
    <div>
      <Text size="sm" fw={500} id={`jobs-on-${node.name}`}>
        {t`Jobs that run there`}
      </Text>
      <List size="sm" aria-labelledby={`jobs-on-${node.name}`}>
        {named.map(({ id, name }) => (
          <List.Item key={id}>
            <TextLink to={`/jobs/${id}`}>{name}</TextLink>
            {finishes.data && (
              <Text span size="xs" c="dimmed">
                {`: ${forecastText(finishes.data.get(id) ?? null, request, now)}`}
              </Text>
            )}
          </List.Item>
        ))}
        {nOthers > 0 && <List.Item>{t`Jobs of other organisations, in ${plural(nOthers, { one: "# place", other: "# places" })}`}</List.Item>}
      </List>
    </div>
  );
}

/** What becomes of a job, by its predicted finish and the time that a drain leaves. */
function forecastText(finish: string | null, request: NodeAction | undefined, now: number): string {
  const leftS = finish === null ? null : Math.max(0, (new Date(finish).getTime() - now) / 1000);
  if (request?.verb !== "drain") return leftS === null ? t`its finish is not predicted` : t`predicted to finish in ${duration(leftS)}`;
  if (leftS === null) return t`is preempted; its finish is not predicted`;
  const left = duration(leftS);
  return leftS <= (request.deadline_s ?? 0) ? t`predicted to finish before, in ${left}` : t`is preempted: without that it would finish in ${left}`;
}
