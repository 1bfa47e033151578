// SPDX-License-Identifier: Apache-2.0
// One checkpoint: its step, kind, metrics and size, and what can be done with it.
import { t } from "@lingui/core/macro";
import { Button, Checkbox, Group, Table, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "react-router";

import { api, Problem, unwrap } from "@/api/client";
import type { Checkpoint, Job } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { DownloadButton } from "@/components/form/DownloadButton";
import { isConfusion } from "@/domain/confusion";
import { numbersIn } from "@/features/jobs/format";
import { bytes, number } from "@/lib/quantities";

interface Props {
  job: Job;
  checkpoint: Checkpoint;
  mayChange: boolean;
  mayFork: boolean;
  /** Whether it may be deleted. */
  mayChoose: boolean;
  isChosen: boolean;
  /** isFar: from the one that was chosen before to this one. */
  onChoose: (isChosen: boolean, isFar: boolean) => void;
  /** Its place in the whole table. */
  index: number;
  measure: ((node: Element | null) => void) | undefined;
}

export function CheckpointRow({ job, checkpoint, mayChange, mayFork, mayChoose, isChosen, onChoose, index, measure }: Props) {
  const { id, step, is_best: isBest, is_pinned: isPinned, is_reachable: isReachable, name } = checkpoint;
  const isScript = job.model_version.kind === "script";
  return (
    <Table.Tr ref={measure} data-index={index} aria-rowindex={index + 2}>
      <Table.Td>
        {mayChange && isReachable && (
          <Checkbox
            aria-label={t`Choose the checkpoint of step ${step}`}
            checked={isChosen}
            disabled={!mayChoose}
            onChange={(event) => onChoose(event.currentTarget.checked, (event.nativeEvent as MouseEvent).shiftKey)}
          />
        )}
      </Table.Td>
      <Table.Td>{number(step)}</Table.Td>
      <Table.Td>
        {isBest ? t`Best weights` : t`To resume from`}
        {isScript && (
          <Text size="xs" c="dimmed" style={{ overflowWrap: "anywhere" }}>
            {name}
          </Text>
        )}
        {isPinned && (
          <Text size="xs" c="dimmed">
            {t`pinned`}
          </Text>
        )}
      </Table.Td>
      <Table.Td>{metricsLine(checkpoint)}</Table.Td>
      <Table.Td>{bytes(checkpoint.size_bytes)}</Table.Td>
      <Table.Td>
        <RelativeTime at={checkpoint.at} />
      </Table.Td>
      <Table.Td>
        <Group gap="xs" wrap="nowrap" justify="flex-end">
          {mayFork && isReachable && <ForkButton job={job} checkpoint={checkpoint} />}
          {mayChange && isReachable && <PinButton job={job} checkpoint={checkpoint} />}
          {isReachable && (
            <DownloadButton href={`/api/v1/jobs/${job.id}/checkpoints/${id}/weights`}>{t`Weights`}</DownloadButton>
          )}
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

function metricsLine({ metrics }: Checkpoint): string {
  const found = numbersIn(metrics).filter(([name]) => !isConfusion(name));
  return found.map(([name, value]) => `${name} ${number(value)}`).join(", ") || "–";
}

function ForkButton({ job, checkpoint }: Pick<Props, "job" | "checkpoint">) {
  const navigate = useNavigate();
  const fork = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST("/api/v1/jobs/{id}/fork", {
          params: { path: { id: job.id } },
          body: { checkpoint: checkpoint.id },
        }),
      ),
    onSuccess: (made) => navigate(`/jobs/${made.id}`),
    onError: show,
  });
  return (
    <Button
      size="xs"
      variant="light"
      loading={fork.isPending}
      onClick={() => fork.mutate()}
      aria-label={t`Fork from step ${checkpoint.step}`}
    >
      {t`Fork`}
    </Button>
  );
}

function PinButton({ job, checkpoint }: Pick<Props, "job" | "checkpoint">) {
  const queries = useQueryClient();
  const isPinned = checkpoint.is_pinned;
  const pin = useMutation({
    mutationFn: () =>
      unwrap(
        api.PATCH("/api/v1/jobs/{id}/checkpoints/{checkpoint}", {
          params: { path: { id: job.id, checkpoint: checkpoint.id } },
          body: { is_pinned: !isPinned },
        }),
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: ["job", job.id, "checkpoints"] }),
    onError: show,
  });
  const verb = isPinned ? t`Unpin` : t`Pin`;
  return (
    <Button
      size="xs"
      variant="default"
      loading={pin.isPending}
      onClick={() => pin.mutate()}
      aria-label={t`${verb} the checkpoint of step ${checkpoint.step}`}
    >
      {verb}
    </Button>
  );
}

function show(error: Error) {
  notifications.show({
    color: "red",
    title: error instanceof Problem ? error.title : t`It did not work`,
    message: error instanceof Problem ? [error.detail, error.remedy].filter(Boolean).join(" ") : error.message,
  });
}
