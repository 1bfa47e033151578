// SPDX-License-Identifier: Apache-2.0
// What a platform administrator may do to a node: cordon, drain, uncordon; a drain says which jobs it moves.
import { t } from "@lingui/core/macro";
import { Button, Group, Menu, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";

import { isStaff, useMe } from "@/api/session";
import type { Node } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { Dialog } from "@/components/form/Dialog";
import { JobsOnNode } from "@/features/cluster/JobsOnNode";
import { type NodeAction, useNodeAction } from "@/features/cluster/queries";

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
          {node.maintenance === null && (
            <Menu.Item onClick={() => ask(t`Cordon`, { verb: "cordon" })}>{t`Cordon`}</Menu.Item>
          )}
          {(node.maintenance !== null || node.exclusion !== null) && (
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
