// What a platform administrator may do to a node: close it, empty it, open it again.
import { Button, Group, Menu, Modal, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";

import { isStaff, useMe } from "@/api/session";
import type { Node } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { type Closing, useNodeAction } from "@/features/cluster/queries";

const DRAINS: readonly [string, number][] = [
  ["Drain now", 0],
  ["Drain within 10 minutes", 600],
  ["Drain within 2 hours", 7200],
];

export function NodeActions({ node }: { node: Node }) {
  const me = useMe();
  const action = useNodeAction(node.name);
  const [isOpen, { open, close }] = useDisclosure(false);
  const [asked, setAsked] = useState<{ label: string; closing: Closing }>();
  if (!isStaff(me)) return null;

  const ask = (label: string, closing: Closing) => {
    setAsked({ label, closing });
    action.reset();
    open();
  };
  const act = () => {
    if (asked) action.mutate(asked.closing, { onSuccess: close });
  };
  return (
    <>
      <Menu position="bottom-end" width={220}>
        <Menu.Target>
          <Button variant="default" size="compact-xs" aria-label={`Actions on ${node.name}`}>
            Maintain
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {node.maintenance === null ? (
            <Menu.Item onClick={() => ask("Cordon", { verb: "cordon" })}>Cordon</Menu.Item>
          ) : (
            <Menu.Item onClick={() => ask("Open again", { verb: "uncordon" })}>Open again</Menu.Item>
          )}
          {DRAINS.map(([label, deadline_s]) => (
            <Menu.Item key={label} onClick={() => ask(label, { verb: "drain", deadline_s })}>
              {label}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      <Modal
        opened={isOpen}
        onClose={close}
        title={`${asked?.label ?? ""}: ${node.name}`}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        <Stack>
          <Text size="sm">{asked && MEANING[asked.closing.verb]}</Text>
          <ProblemAlert error={action.error} />
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={close}>
              Leave it
            </Button>
            <Button loading={action.isPending} onClick={act}>
              {asked?.label}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}

const MEANING: Record<Closing["verb"], string> = {
  cordon: "Nothing new starts on it. What runs there goes on.",
  uncordon: "The scheduler may use it from its next round on.",
  drain:
    "Nothing new starts on it. Jobs that will be done by then finish; all others save a checkpoint, leave, and go on " +
    "elsewhere as soon as there is room.",
};
