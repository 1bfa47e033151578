// SPDX-License-Identifier: Apache-2.0
// Makes a webhook and shows its secret, once.
import { t } from "@lingui/core/macro";
import { Button, Group, Paper, Stack } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { api, Problem, unwrap } from "@/api/client";
import { SecretOnce } from "@/components/display/SecretOnce";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { webhooksQuery } from "@/features/webhooks/queries";
import { USUAL } from "@/features/webhooks/topics";
import { isWhole, WebhookFields, type WebhookValues } from "@/features/webhooks/WebhookFields";

export function NewWebhook({ organisationId }: { organisationId: string }) {
  const queries = useQueryClient();
  const [values, setValues] = useState<WebhookValues>({ url: "", topics: USUAL });
  const make = useMutation({
    mutationFn: () => {
      const body = { ...values, url: values.url.trim() };
      return unwrap(api.POST("/api/v1/organisations/{id}/webhooks", { params: { path: { id: organisationId } }, body }));
    },
    onSuccess: async () => {
      setValues({ ...values, url: "" });
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
        <WebhookFields values={values} onChange={setValues} problem={problem} />
        {problem?.of("url") === undefined && <ProblemAlert error={make.error} />}
        <Group justify="flex-end">
          <Button type="submit" loading={make.isPending} disabled={!isWhole(values)}>
            {t`Make a webhook`}
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}
