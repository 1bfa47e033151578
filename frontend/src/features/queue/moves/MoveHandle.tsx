// SPDX-License-Identifier: Apache-2.0
// By what a job of the queue is moved: dragged with the pointer; with the keyboard and by touch its menu does the same, and
// pauses it.
import { t } from "@lingui/core/macro";
import { ActionIcon, Menu } from "@mantine/core";

import type { QueuedJob } from "@/api/types";
import { Icon } from "@/components/display/Icon";

import { type Move, moveTo } from "./move";
import classes from "./moves.module.css";

interface Props {
  jobs: readonly QueuedJob[];
  job: QueuedJob;
  onMove: (move: Move) => void;
  onDrag: (id: string | null) => void;
  /** It shall leave the queue until it is resumed. */
  onPause: (job: QueuedJob) => void;
}

export function MoveHandle({ jobs, job, onMove, onDrag, onPause }: Props) {
  const at = jobs.findIndex(({ id }) => id === job.id);
  const to = (label: string, gap: number) => {
    const move = moveTo(jobs, job.id, gap);
    return (
      <Menu.Item disabled={move === null} onClick={() => move !== null && onMove(move)}>
        {label}
      </Menu.Item>
    );
  };
  return (
    <Menu position="bottom-start" withinPortal>
      <Menu.Target>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="md"
          className={classes.handle}
          aria-label={t`Move ${job.name}`}
          draggable={jobs.length > 1}
          onDragStart={(event) => {
            event.dataTransfer.effectAllowed = "move";
            event.dataTransfer.setData("text/plain", job.name);
            onDrag(job.id);
          }}
          onDragEnd={() => onDrag(null)}
        >
          <Icon name="grip" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {to(t`Move up`, at - 1)}
        {to(t`Move down`, at + 2)}
        {to(t`To the top of the list`, 0)}
        {to(t`To the end of the list`, jobs.length)}
        <Menu.Divider />
        <Menu.Item onClick={() => onPause(job)}>{t`Pause: out of the queue until it is resumed`}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
