// SPDX-License-Identifier: Apache-2.0
// What happened to the job, newest first: when, what, by whom.
import { t } from "@lingui/core/macro";
import { Table, Text } from "@mantine/core";

import type { Event } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";

import { describeEvent } from "./describeEvent";

export function EventTable({ events }: { events: readonly Event[] }) {
  if (events.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        {t`No events yet.`}
      </Text>
    );
  }
  return (
    <Table.ScrollContainer minWidth={480} maxHeight={360} type="native" tabIndex={0} role="region" aria-label={t`Events`}>
      <Table verticalSpacing={4} aria-label={t`Events`}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t`When`}</Table.Th>
            <Table.Th>{t`What`}</Table.Th>
            <Table.Th>{t`By`}</Table.Th>
            <Table.Th>{t`Details`}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {events.toReversed().map((event) => ({ event, text: describeEvent(event) })).map(({ event, text }) => (
            <Table.Tr key={event.id}>
              <Table.Td style={{ whiteSpace: "nowrap" }}>
                <RelativeTime at={event.at} />
              </Table.Td>
              <Table.Td>{text.what}</Table.Td>
              <Table.Td>{event.actor?.username ?? "MLHub"}</Table.Td>
              <Table.Td>
                <Text size="xs" c="dimmed" component="span">
                  {text.details}
                </Text>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
