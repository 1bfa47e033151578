// SPDX-License-Identifier: Apache-2.0
// One webhook: what it is notified of, whether it works, and what was delivered.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Badge, Button, Collapse, Group, Paper, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation, useQueryClient } from "@tanstack/react-query";

import { api, Problem, unwrap } from "@/api/client";
import type { Webhook, WebhookTopic } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { BothVersions, changedMeanwhile } from "@/components/feedback/BothVersions";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { Deliveries } from "@/features/webhooks/Deliveries";
import { EditWebhook } from "@/features/webhooks/EditWebhook";
import { webhooksQuery } from "@/features/webhooks/queries";
import { topicLabel } from "@/features/webhooks/topics";
import type { WebhookValues } from "@/features/webhooks/WebhookFields";

type Change = Partial<WebhookValues> & { is_active?: boolean; seen: Partial<WebhookValues> & { is_active?: boolean } };

export function WebhookCard({ webhook, organisationId }: { webhook: Webhook; organisationId: string }) {
  const queries = useQueryClient();
  const [isOpen, deliveries] = useDisclosure(false);
  const params = { params: { path: { id: webhook.id } } };
  const reload = () => queries.invalidateQueries({ queryKey: webhooksQuery(organisationId).queryKey });
  const [isEdited, editing] = useDisclosure(false);
  const change = useMutation({
    mutationFn: (body: Change) => unwrap(api.PATCH("/api/v1/webhooks/{id}", { ...params, body })),
    onSuccess: () => settle(),
  });
  const conflict = changedMeanwhile(change.error);
  const test = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/webhooks/{id}/test", params)),
    onSuccess: async () => {
      deliveries.open();
      await queries.invalidateQueries({ queryKey: ["deliveries", webhook.id] });
    },
  });

  async function settle() {
    await reload();
    change.reset();
    editing.close();
  }

  async function remove() {
    await unwrap(api.DELETE("/api/v1/webhooks/{id}", params));
    await reload();
  }

  return (
    <Paper component="section" withBorder p="md" aria-label={webhook.url}>
      <Stack gap="xs">
        <Group justify="space-between" align="flex-start">
          <Text fw={600} style={{ overflowWrap: "anywhere" }}>
            {webhook.url}
          </Text>
          <Status webhook={webhook} />
        </Group>
        <Text size="sm">{webhook.topics.map(topicLabel).join(" · ")}</Text>
        {webhook.disabled_reason !== "" && (
          <Text size="sm" c="var(--mantine-color-error)" style={{ overflowWrap: "anywhere" }}>
            <b>{t`Turned off`}</b> · {t`${webhook.disabled_reason} Turn it on again once the receiver works.`}
          </Text>
        )}
        {isEdited && (
          <EditWebhook
            webhook={webhook}
            problem={change.error instanceof Problem ? change.error : undefined}
            isPending={change.isPending}
            onSave={(body, seen) => change.mutate({ ...body, seen })}
            onCancel={() => {
              change.reset();
              editing.close();
            }}
          />
        )}
        {conflict && change.variables ? (
          <BothVersions
            problem={conflict}
            labels={{ url: t`Address`, topics: t`Events`, is_active: t`Turned on` }}
            textOf={textOf}
            onTheirs={() => void settle()}
            onMine={(seen) => change.mutate({ ...change.variables, seen })}
          />
        ) : (
          <ProblemAlert error={change.error ?? test.error} />
        )}
        <Group gap="xs">
          <Button size="xs" variant="default" onClick={deliveries.toggle} aria-expanded={isOpen}>
            {isOpen ? t`Hide deliveries` : t`Deliveries`}
          </Button>
          {webhook.is_active && (
            <Button size="xs" variant="default" loading={test.isPending} onClick={() => test.mutate()}>
              {t`Send a test`}
            </Button>
          )}
          {!isEdited && (
            <Button size="xs" variant="default" onClick={editing.open}>
              {t`Change`}
            </Button>
          )}
          <Button
            size="xs"
            variant="default"
            loading={change.isPending}
            onClick={() => change.mutate({ is_active: !webhook.is_active, seen: { is_active: webhook.is_active } })}
          >
            {webhook.is_active ? t`Turn off` : t`Turn on`}
          </Button>
          <ConfirmButton
            label={t`Delete`}
            size="xs"
            title={t`Delete this webhook?`}
            text={t`Its receiver is notified of nothing more, also not of what waits to be sent.`}
            action={remove}
          />
        </Group>
        <Collapse expanded={isOpen} keepMounted={false}>
          <Deliveries webhookId={webhook.id} />
        </Collapse>
      </Stack>
    </Paper>
  );
}

function textOf(_: string, value: unknown): string {
  if (typeof value === "boolean") return value ? t`yes` : t`no`;
  return Array.isArray(value) ? value.map((topic: WebhookTopic) => topicLabel(topic)).join(" · ") : String(value);
}

function Status({ webhook: { is_active, failing_since } }: { webhook: Webhook }) {
  if (!is_active) return <Badge color="gray">{t`Off`}</Badge>;
  if (failing_since === null) return <Badge color="teal">{t`On`}</Badge>;
  return (
    <Group gap={6}>
      <Badge color="orange">{t`Failing`}</Badge>
      <Text size="sm" c="dimmed">
        <Trans>
          since <RelativeTime at={failing_since} />
        </Trans>
      </Text>
    </Group>
  );
}
