// SPDX-License-Identifier: Apache-2.0
// The log of a webhook's deliveries, newest first.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Badge, Button, Table, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { api, unwrap } from "@/api/client";
import type { Delivery } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { EmptyState } from "@/components/feedback/EmptyState";
import { PagedTable } from "@/components/table/PagedTable";
import { deliveriesQuery } from "@/features/webhooks/queries";
import { topicLabel } from "@/features/webhooks/topics";

const COLOURS: Record<Delivery["state"], string> = { waiting: "gray", delivered: "teal", failed: "red" };
const LABELS: Record<Delivery["state"], string> = { waiting: t`Waiting`, delivered: t`Delivered`, failed: t`Failed` };

export function Deliveries({ webhookId }: { webhookId: string }) {
  const [cursor, setCursor] = useState<string>();
  const deliveries = useQuery(deliveriesQuery(webhookId, cursor));
  return (
    <PagedTable
      list={deliveries}
      label={t`Deliveries`}
      head={[t`When`, t`What`, t`State`, t`Answer`, t`Attempts`, ""]}
      empty={<EmptyState title={t`Nothing was delivered yet`} />}
      row={(delivery) => <Row key={delivery.id} delivery={delivery} webhookId={webhookId} />}
      onCursor={setCursor}
    />
  );
}

function Row({ delivery, webhookId }: { delivery: Delivery; webhookId: string }) {
  const queries = useQueryClient();
  const again = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/deliveries/{id}/send", { params: { path: { id: delivery.id } } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["deliveries", webhookId] }),
  });
  return (
    <Table.Tr>
      <Table.Td>
        <RelativeTime at={delivery.created_at} />
      </Table.Td>
      <Table.Td>{topicLabel(delivery.topic)}</Table.Td>
      <Table.Td>
        <Badge color={COLOURS[delivery.state]}>{LABELS[delivery.state]}</Badge>
      </Table.Td>
      <Table.Td>
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>
          {[delivery.status_code, delivery.error].filter((part) => part !== null && part !== "").join(" ") || "–"}
        </Text>
      </Table.Td>
      <Table.Td>
        {delivery.n_attempts}
        {delivery.state === "waiting" && delivery.n_attempts > 0 && (
          <>
            <Trans>
              , again <RelativeTime at={delivery.due_at} />
            </Trans>
          </>
        )}
      </Table.Td>
      <Table.Td ta="right">
        {(delivery.state !== "waiting" || delivery.n_attempts > 0) && (
          <Button size="xs" variant="default" loading={again.isPending} onClick={() => again.mutate()}>
            {delivery.state === "waiting" ? t`Send now` : t`Send again`}
          </Button>
        )}
      </Table.Td>
    </Table.Tr>
  );
}
