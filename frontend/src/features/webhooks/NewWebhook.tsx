// SPDX-License-Identifier: Apache-2.0
// Makes a webhook and shows its secret, once.
import { t } from "@lingui/core/macro";
import { Button, Checkbox, Group, Paper, SimpleGrid, Stack, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import type { WebhookTopic } from "@/api/types";
import { SecretOnce } from "@/components/display/SecretOnce";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { webhooksQuery } from "@/features/webhooks/queries";
import { TOPICS, USUAL } from "@/features/webhooks/topics";

export function NewWebhook({ organisationId }: { organisationId: string }) {
  const queries = useQueryClient();
  const [url, setUrl] = useState("");
  const [topics, setTopics] = useState<string[]>(USUAL);
  const make = useMutation({
    mutationFn: () => {
      const body = { url: url.trim(), topics: topics as WebhookTopic[] };
      return unwrap(api.POST("/api/v1/organisations/{id}/webhooks", { params: { path: { id: organisationId } }, body }));
    },
    onSuccess: async () => {
      setUrl("");
      await queries.invalidateQueries({ queryKey: webhooksQuery(organisationId).queryKey });
    },
  });
  const problem = make.error instanceof Problem ? make.error : undefined;

  function submit(event: SubmitEvent) {
    event.preventDefault();
    make.mutate();
  }

  if (make.data) {
    return (
      <SecretOnce
        title={t`The webhook is made`}
        text={t`Its receiver checks signatures with this secret. Copy it now: it is not shown again.`}
        secret={make.data.secret}
        label={t`The secret`}
        onDone={make.reset}
      />
    );
  }
  return (
    <Paper component="form" withBorder p="md" onSubmit={submit} aria-label={t`New webhook`}>
      <Stack>
        <TextInput
          label={t`Address`}
          description={t`Of the receiver; it gets a POST for each event`}
          placeholder={t`https://example.org/mlhub`}
          maxLength={2000}
          maw={640}
          value={url}
          onChange={(event) => setUrl(event.currentTarget.value)}
          error={problem?.of("url")}
        />
        <Checkbox.Group label={t`Events`} value={topics} onChange={setTopics} error={problem?.of("topics")}>
          <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} mt={4} verticalSpacing="xs">
            {Object.entries(TOPICS).map(([topic, label]) => (
              <Checkbox key={topic} value={topic} label={label} />
            ))}
          </SimpleGrid>
        </Checkbox.Group>
        {problem?.of("url") === undefined && <ProblemAlert error={make.error} />}
        <Group justify="flex-end">
          <Button type="submit" loading={make.isPending} disabled={url.trim() === "" || topics.length === 0}>
            {t`Make a webhook`}
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}
