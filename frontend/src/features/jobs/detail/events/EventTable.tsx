// SPDX-License-Identifier: Apache-2.0
// What happened to the job, newest first: when, what, by whom.
import { t } from "@lingui/core/macro";
import { Table, Text } from "@mantine/core";

import type { Event } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { ScrollTable } from "@/components/table/ScrollTable";

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
    <ScrollTable label={t`Events`} head={[t`When`, t`What`, t`By`, t`Details`]} minWidth={480}>
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
    </ScrollTable>
  );
}
