// SPDX-License-Identifier: Apache-2.0
// Another address or other events of a webhook.
import { t } from "@lingui/core/macro";
import { Button, Group, Stack } from "@mantine/core";
import { type SubmitEvent, useState } from "react";

import type { Problem } from "@/api/client";
import type { Webhook } from "@/api/types";
import { isWhole, WebhookFields, type WebhookValues } from "@/features/webhooks/WebhookFields";

interface Props {
  webhook: Webhook;
  problem: Problem | undefined;
  isPending: boolean;
  /** What is another now, and what it was when one began. */
  onSave: (change: Partial<WebhookValues>, seen: Partial<WebhookValues>) => void;
  onCancel: () => void;
}

export function EditWebhook({ webhook, problem, isPending, onSave, onCancel }: Props) {
  const [began] = useState<WebhookValues>({ url: webhook.url, topics: webhook.topics });
  const [values, setValues] = useState(began);
  const isOtherUrl = values.url.trim() !== began.url;
  const isOtherChoice = values.topics.length !== began.topics.length || values.topics.some((topic) => !began.topics.includes(topic));

  function submit(event: SubmitEvent) {
    event.preventDefault();
    onSave(
      { ...(isOtherUrl && { url: values.url.trim() }), ...(isOtherChoice && { topics: values.topics }) },
      { ...(isOtherUrl && { url: began.url }), ...(isOtherChoice && { topics: began.topics }) },
    );
  }

  return (
    <Stack component="form" onSubmit={submit} aria-label={t`Change ${began.url}`}>
      <WebhookFields values={values} onChange={setValues} problem={problem} />
      <Group justify="flex-end" gap="xs">
        <Button size="xs" variant="default" onClick={onCancel}>
          {t`Cancel`}
        </Button>
        <Button size="xs" type="submit" loading={isPending} disabled={!isWhole(values) || !(isOtherUrl || isOtherChoice)}>
          {t`Save`}
        </Button>
      </Group>
    </Stack>
  );
}
