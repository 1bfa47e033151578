// SPDX-License-Identifier: Apache-2.0
// What a person says of a webhook: the address of its receiver, and the events.
import { t } from "@lingui/core/macro";
import { Checkbox, SimpleGrid, TextInput } from "@mantine/core";

import type { Problem } from "@/api/client";
import type { WebhookTopic } from "@/api/types";
import { TOPICS } from "@/features/webhooks/topics";

export interface WebhookValues {
  url: string;
  topics: WebhookTopic[];
}

interface Props {
  values: WebhookValues;
  onChange: (values: WebhookValues) => void;
  problem: Problem | undefined;
}

export function isWhole({ url, topics }: WebhookValues): boolean {
  return url.trim() !== "" && topics.length > 0;
}

export function WebhookFields({ values, onChange, problem }: Props) {
  return (
    <>
      <TextInput
        label={t`Address`}
        description={t`Of the receiver; it gets a POST for each event`}
        placeholder={t`https://example.org/mlhub`}
        maxLength={2000}
        maw={640}
        value={values.url}
        onChange={(event) => onChange({ ...values, url: event.currentTarget.value })}
        error={problem?.of("url")}
      />
      <Checkbox.Group
        label={t`Events`}
        value={values.topics}
        onChange={(topics) => onChange({ ...values, topics: topics })}
        error={problem?.of("topics")}
      >
        <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} mt={4} verticalSpacing="xs">
          {Object.entries(TOPICS).map(([topic, label]) => (
            <Checkbox key={topic} value={topic} label={label} />
          ))}
        </SimpleGrid>
      </Checkbox.Group>
    </>
  );
}
