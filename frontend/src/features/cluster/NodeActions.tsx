// SPDX-License-Identifier: Apache-2.0
// What a platform administrator may do to a node: cordon, drain, uncordon; a drain says which jobs it moves.
import { plural, t } from "@lingui/core/macro";
import { Button, Group, List, Menu, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { isStaff, useMe } from "@/api/session";
import type { Node } from "@/api/types";
import { TextLink } from "@/components/display/TextLink";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { Dialog } from "@/components/form/Dialog";
import { jobsOn } from "@/domain/scheduling/capacity";
import { type NodeAction, finishesQuery, useNodeAction } from "@/features/cluster/queries";
import { duration, useNow } from "@/lib/time";

const DRAINS: readonly [string, number][] = [
  [t`Drain now`, 0],
  [t`Drain within 10 minutes`, 600],
  [t`Drain within 2 hours`, 7200],
];

export function NodeActions({ node }: { node: Node }) {
  const me = useMe();
  const action = useNodeAction(node.name);
  const [isOpen, { open, close }] = useDisclosure(false);
  const [asked, setAsked] = useState<{ label: string; request: NodeAction }>();
  if (!isStaff(me)) return null;

  const ask = (label: string, request: NodeAction) => {
    setAsked({ label, request });
    action.reset();
    open();
  };
  const act = () => {
    if (asked) action.mutate(asked.request, { onSuccess: close });
  };
  return (
    <>
      <Menu position="bottom-end" width={220}>
        <Menu.Target>
          <Button variant="default" size="compact-xs" aria-label={t`Actions on ${node.name}`}>
            {t`Actions`}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {node.maintenance === null ? (
            <Menu.Item onClick={() => ask(t`Cordon`, { verb: "cordon" })}>{t`Cordon`}</Menu.Item>
          ) : (
            <Menu.Item onClick={() => ask(t`Uncordon`, { verb: "uncordon" })}>{t`Uncordon`}</Menu.Item>
          )}
          {DRAINS.map(([label, deadline_s]) => (
            <Menu.Item key={label} onClick={() => ask(label, { verb: "drain", deadline_s })}>
              {label}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <Dialog opened={isOpen} onClose={close} title={`${asked?.label ?? ""}: ${node.name}`}>
        <Stack>
          <Text size="sm">{asked && MEANING[asked.request.verb]}</Text>
          {asked && asked.request.verb !== "uncordon" && <JobsOnNode node={node} request={asked.request} />}
          <ProblemAlert error={action.error} />
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={close}>
              {t`Cancel`}
            </Button>
            <Button loading={action.isPending} onClick={act}>
              {asked?.label}
            </Button>
          </Group>
        </Stack>
      </Dialog>
    </>
  );
}

const MEANING: Record<NodeAction["verb"], string> = {
  cordon: t`Nothing new starts on it. What runs there continues.`,
  uncordon: t`The scheduler may use it from its next round on.`,
  drain:
    t`Nothing new starts on it. Jobs that will be done by then finish; all others are preempted: they save a checkpoint ` +
    t`and continue elsewhere as soon as GPUs are free.`,
};

function JobsOnNode({ node, request }: { node: Node; request: NodeAction }) {
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
function forecastText(finish: string | null, request: NodeAction, now: number): string {
  const leftS = finish === null ? null : Math.max(0, (new Date(finish).getTime() - now) / 1000);
  if (request.verb !== "drain") return leftS === null ? t`its finish is not predicted` : t`predicted to finish in ${duration(leftS)}`;
  if (leftS === null) return t`is preempted; its finish is not predicted`;
  const left = duration(leftS);
  return leftS <= (request.deadline_s ?? 0) ? t`predicted to finish before, in ${left}` : t`is preempted: without that it would finish in ${left}`;
}
