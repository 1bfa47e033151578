// SPDX-License-Identifier: Apache-2.0
// What people write on the job: tags, by which lists find it, and notes. Members may change both, and who submitted the job.
import { t } from "@lingui/core/macro";
import { Button, Group, Stack, Text, Textarea } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, unwrap } from "@/api/client";
import { canChangeJob, canWrite, useMe } from "@/api/session";
import type { JobDetail } from "@/api/types";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { TagsField } from "@/components/form/TagsField";
import { SectionCard } from "@/components/layout/Section";
import { tagsQuery } from "@/features/jobs/list/tags";

const MAX_NOTES = 10_000;

export function NotesCard({ job }: { job: JobDetail }) {
  const me = useMe();
  const mayWrite = canWrite(me, job.project) || canChangeJob(me, job.project, job.created_by);
  return (
    <SectionCard title={t`Tags and notes`}>
      {mayWrite ? <Editor job={job} /> : <Written job={job} />}
    </SectionCard>
  );
}

function Editor({ job }: { job: JobDetail }) {
  const queries = useQueryClient();
  const used = useQuery(tagsQuery).data ?? [];
  const [tags, setTags] = useState(job.tags);
  const [notes, setNotes] = useState(job.notes);
  const isChanged = notes !== job.notes || tags.join() !== job.tags.join();
  const save = useMutation({
    mutationFn: () =>
      unwrap(api.PATCH("/api/v1/jobs/{id}", { params: { path: { id: job.id } }, body: { tags, notes } })),
    onSuccess: () =>
      Promise.all(
        [["job", job.id], ["jobs"], tagsQuery.queryKey].map((queryKey) => queries.invalidateQueries({ queryKey })),
      ),
  });
  return (
    <Stack gap="xs">
      <TagsField value={tags} onChange={setTags} known={used.map(({ tag }) => tag)} />
      <Textarea
        label={t`Notes`}
        rows={3}
        resize="vertical"
        maxLength={MAX_NOTES}
        value={notes}
        onChange={(event) => setNotes(event.currentTarget.value)}
      />
      <ProblemAlert error={save.error} />
      <Group justify="flex-end">
        <Button size="xs" disabled={!isChanged} loading={save.isPending} onClick={() => save.mutate()}>
          {t`Save tags and notes`}
        </Button>
      </Group>
    </Stack>
  );
}

function Written({ job }: { job: JobDetail }) {
  return (
    <Stack gap="xs">
      <Text size="sm">{job.tags.length > 0 ? t`Tags: ${job.tags.join(", ")}` : t`No tags.`}</Text>
      <Text size="sm" style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
        {job.notes || t`No notes.`}
      </Text>
    </Stack>
  );
}
