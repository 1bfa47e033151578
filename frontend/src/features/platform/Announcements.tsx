// SPDX-License-Identifier: Apache-2.0
// All announcements, those that come and those that have ended, too; administrators publish and delete them.
import { t } from "@lingui/core/macro";
import { Group, Table, Text } from "@mantine/core";
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { announcementsKey, readAnnouncements } from "@/api/announcements";
import { api, unwrap } from "@/api/client";
import type { Announcement } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { StateBadge } from "@/components/display/StateBadge";
import { EmptyState } from "@/components/feedback/EmptyState";
import { ConfirmButton } from "@/components/form/ConfirmButton";
import { Section } from "@/components/layout/Section";
import { PagedTable } from "@/components/table/PagedTable";
import type { BadgeColor } from "@/domain/states/badgeColor";
import type { StateSign } from "@/domain/states/stateSign";
import { NewAnnouncement } from "@/features/platform/NewAnnouncement";
import { pageAt } from "@/lib/cursor";

import classes from "./Announcements.module.css";

const STATES: Record<Announcement["state"], { label: string; color: BadgeColor; sign: StateSign }> = {
  scheduled: { label: t`Scheduled`, color: "gray", sign: "waiting" },
  current: { label: t`Shown now`, color: "teal", sign: "running" },
  ended: { label: t`Ended`, color: "gray", sign: "done" },
};

export function Announcements() {
  const [cursor, setCursor] = useState<string>();
  const list = useQuery({
    queryKey: [...announcementsKey, "list", cursor],
    queryFn: () => readAnnouncements(pageAt(cursor)),
    placeholderData: keepPreviousData,
  });
  return (
    <Section title={t`Announcements`}>
      <Group justify="space-between" gap="sm">
        <Text size="sm" c="dimmed">
          {t`They stand above every page of those whom they concern, and in the notes of the command mlhub.`}
        </Text>
        <NewAnnouncement />
      </Group>
      <PagedTable
        list={list}
        label={t`Announcements`}
        head={[t`Text`, t`State`, t`For`, t`Begins`, t`Ends`, t`Published by`, ""]}
        minWidth={900}
        isOneLine={false}
        empty={<EmptyState title={t`No announcements`} text={t`Say here when the cluster is maintained, or what is new.`} />}
        row={(one) => <Row key={one.id} announcement={one} />}
        onCursor={setCursor}
      />
    </Section>
  );
}

function Row({ announcement: one }: { announcement: Announcement }) {
  const queries = useQueryClient();
  const remove = async () => {
    await unwrap(api.DELETE("/api/v1/announcements/{id}", { params: { path: { id: one.id } } }));
    await queries.invalidateQueries({ queryKey: announcementsKey });
  };
  return (
    <Table.Tr>
      <Table.Td className={classes.text}>
        {one.text}
        {one.severity === "warning" && (
          <Text size="xs" c="dimmed">
            {t`As a warning`}
          </Text>
        )}
        {!one.is_dismissible && (
          <Text size="xs" c="dimmed">
            {t`Cannot be dismissed`}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <StateBadge {...STATES[one.state]} />
      </Table.Td>
      <Table.Td className={classes.name}>{one.organisation === null ? t`Everybody` : one.organisation.name}</Table.Td>
      <Table.Td>
        <RelativeTime at={one.begins_at} />
      </Table.Td>
      <Table.Td>{one.ends_at === null ? t`When it is deleted` : <RelativeTime at={one.ends_at} />}</Table.Td>
      <Table.Td className={classes.name}>{one.published_by || "–"}</Table.Td>
      <Table.Td>
        <ConfirmButton
          label={t`Delete`}
          ariaLabel={t`Delete the announcement “${one.text}”`}
          title={t`Delete this announcement?`}
          text={one.state === "current" ? t`It goes from all pages at once. The audit keeps its text.` : t`The audit keeps its text.`}
          action={remove}
        />
      </Table.Td>
    </Table.Tr>
  );
}
