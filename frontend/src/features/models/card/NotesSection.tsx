// SPDX-License-Identifier: Apache-2.0
// What people write on a version: tags, and notes in Markdown. Members change both; all who see the model read them.
import { t } from "@lingui/core/macro";
import { Badge, Button, Group, Paper, Stack, Text, Textarea } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { Problem, api, unwrap } from "@/api/client";
import type { ModelVersionDetail } from "@/api/types";
import { Markdown } from "@/components/display/Markdown";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { TagsField } from "@/components/form/TagsField";
import { Section } from "@/components/layout/Section";

const MAX_NOTES = 50_000; // mlhub/registry/annotations.py

interface Props {
  version: ModelVersionDetail;
  /** Whether this person may write. */
  isMine: boolean;
}

export function NotesSection({ version, isMine }: Props) {
  const [isEditing, setIsEditing] = useState(false);
  const isEmpty = version.notes === "" && version.tags.length === 0;
  if (isEmpty && !isMine) return null;
  return (
    <Section title={t`Notes`}>
      <Paper withBorder p="md">
        {isEditing ? (
          <Editor version={version} onClose={() => setIsEditing(false)} />
        ) : (
          <Stack gap="sm" align="flex-start">
            {isEmpty && (
              <Text size="sm" c="dimmed">
                {t`Say what this version is for, what it was measured on, and where it fails.`}
              </Text>
            )}
            <Written version={version} />
            {isMine && (
              <Button size="xs" variant="default" onClick={() => setIsEditing(true)}>
                {isEmpty ? t`Write notes` : t`Edit notes and tags`}
              </Button>
            )}
          </Stack>
        )}
      </Paper>
    </Section>
  );
}

function Written({ version: { tags, notes } }: { version: ModelVersionDetail }) {
  return (
    <>
      {tags.length > 0 && (
        <Group gap="xs" role="group" aria-label={t`Tags`}>
          {tags.map((tag) => (
            <Badge key={tag} variant="default" tt="none">
              {tag}
            </Badge>
          ))}
        </Group>
      )}
      {notes !== "" && <Markdown text={notes} />}
    </>
  );
}

function Editor({ version, onClose }: { version: ModelVersionDetail; onClose: () => void }) {
  const queries = useQueryClient();
  const [tags, setTags] = useState(version.tags);
  const [notes, setNotes] = useState(version.notes);
  const save = useMutation({
    mutationFn: () => {
      const params = { path: { id: version.id } };
      return unwrap(api.PATCH("/api/v1/model-versions/{id}", { params, body: { tags, notes } }));
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ["model"] });
      onClose();
    },
  });
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    save.mutate();
  };
  const wrong = save.error instanceof Problem ? save.error.of("notes") : undefined;
  return (
    <form onSubmit={send} noValidate>
      <Stack gap="xs">
        <TagsField value={tags} onChange={setTags} />
        <Textarea
          label={t`Notes`}
          description={t`Markdown: headings, lists, tables, links and code. HTML is shown as text.`}
          rows={12}
          resize="vertical"
          maxLength={MAX_NOTES}
          value={notes}
          onChange={(event) => setNotes(event.currentTarget.value)}
          error={wrong}
        />
        <ProblemAlert error={save.error} atFields={["notes"]} />
        <Group justify="flex-end" gap="xs">
          <Button size="xs" variant="default" onClick={onClose}>
            {t`Cancel`}
          </Button>
          <Button size="xs" type="submit" loading={save.isPending}>
            {t`Save notes and tags`}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
