// SPDX-License-Identifier: Apache-2.0
// Deleting a project with all that it holds: what goes, what forbids it, its name to confirm, and the progress.
import { t } from "@lingui/core/macro";
import { Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import type { Project, ProjectContents, ProjectDeletion } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { Dialog } from "@/components/form/Dialog";
import { DeletionCounts, DeletionProgress, DeletionRefusals } from "@/features/members/deletion/DeletionParts";
import { projectContentsQuery, projectDeletionQuery } from "@/features/members/queries";
import { bytes } from "@/lib/quantities";

/** Above the list of projects: a row goes with its project, and the end of the deletion is to be seen. */
export function DeleteProject({ project, onClose }: { project: Project | null; onClose: () => void }) {
  const queries = useQueryClient();

  function leave() {
    onClose();
    void queries.invalidateQueries();
  }

  return (
    <Dialog opened={project !== null} onClose={leave} title={project && t`Delete ${project.name}?`}>
      {project && <Contents project={project} onClose={leave} />}
    </Dialog>
  );
}

function Contents({ project, onClose }: { project: Project; onClose: () => void }) {
  const [begun, setBegun] = useState<ProjectDeletion>();
  const contents = useQuery(projectContentsQuery(project.id));
  const going = begun ?? contents.data?.deletion; // the answer that there was, also when the project is gone
  if (going) return <Going deletion={going} onClose={onClose} />;
  return (
    <QueryResult of={contents} label={t`Counting what would be deleted`}>
      {(found) => {
        if (isEmpty(found)) return <DeleteEmpty project={project} onClose={onClose} />;
        return (
          <Stack>
            <DeletionCounts
              stays={t`Hours in the ledger and the audit stay. Close the project with Archive instead to keep all of it readable.`}
              counts={found.counts}
              nBytes={found.n_bytes}
              checkpointBytes={found.checkpoint_bytes}
              shared={found.shared_bytes > 0 ? t`${bytes(found.shared_bytes)} of it stay: other projects store the same content.` : undefined}
            />
            {found.refusals.length > 0 ? (
              <DeletionRefusals refusals={found.refusals} />
            ) : (
              <Confirm project={project} onBegun={setBegun} onKeep={onClose} />
            )}
          </Stack>
        );
      }}
    </QueryResult>
  );
}

function isEmpty({ counts, n_bytes, checkpoint_bytes }: ProjectContents): boolean {
  return Object.values(counts).every((n) => n === 0) && n_bytes + checkpoint_bytes === 0;
}

function DeleteEmpty({ project: { id }, onClose }: { project: Project; onClose: () => void }) {
  const act = useMutation({
    mutationFn: () => unwrap(api.DELETE("/api/v1/projects/{id}", { params: { path: { id } } })),
    onSuccess: onClose,
  });
  return (
    <Stack>
      <Text size="sm">{t`It is empty. Its name, its quota and its secrets go for good.`}</Text>
      <ProblemAlert error={act.error} />
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose}>
          {t`Keep it`}
        </Button>
        <Button color="red" loading={act.isPending} onClick={() => act.mutate()}>
          {t`Delete`}
        </Button>
      </Group>
    </Stack>
  );
}

interface ConfirmProps {
  project: Project;
  onBegun: (deletion: ProjectDeletion) => void;
  onKeep: () => void;
}

function Confirm({ project, onBegun, onKeep }: ConfirmProps) {
  const [name, setName] = useState("");
  const { id } = project;
  const act = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/projects/{id}/deletion", { params: { path: { id } }, body: { name } })),
    onSuccess: onBegun,
  });
  const problem = act.error instanceof Problem ? act.error : undefined;

  function submit(event: SubmitEvent) {
    event.preventDefault();
    act.mutate();
  }

  return (
    <form onSubmit={submit} aria-label={t`Delete ${project.name}`}>
      <Stack gap="sm">
        <TextInput
          label={t`Type ${project.name} to confirm`}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={problem?.of("name")}
          autoComplete="off"
          spellCheck={false}
          required
        />
        <ProblemAlert error={act.error} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onKeep}>
            {t`Keep it`}
          </Button>
          <Button color="red" type="submit" loading={act.isPending}>
            {t`Delete it for good`}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function Going({ deletion, onClose }: { deletion: ProjectDeletion; onClose: () => void }) {
  const { data, error } = useQuery(projectDeletionQuery(deletion.id));
  return <DeletionProgress deletion={data ?? deletion} error={error} onClose={onClose} />;
}
