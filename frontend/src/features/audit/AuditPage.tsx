// SPDX-License-Identifier: Apache-2.0
// Who did what, when, to what: the events of the organisations, with filters that live in the address.
import { plural, t } from "@lingui/core/macro";
import { Alert, Anchor, Button, Group, NativeSelect, Table, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Suspense } from "react";
import { Link } from "react-router";

import { isStaff, useMe } from "@/api/session";
import type { Event } from "@/api/types";
import { RelativeTime } from "@/components/display/RelativeTime";
import { EmptyState } from "@/components/feedback/EmptyState";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { Page } from "@/components/layout/Page";
import { PagedTable } from "@/components/table/PagedTable";
import { useFilters } from "@/components/table/useFilters";
import { describeAudit } from "@/features/audit/describeAudit";
import { eventsQuery, exportAddress, verificationQuery } from "@/features/audit/queries";
import { lazyComponent } from "@/lib/chunk";

/** What opens a list comes after the table. */
const OrganisationSelect = lazyComponent(async () => (await import("@/components/form/choice/OrganisationSelect")).OrganisationSelect);
const PersonFilter = lazyComponent(async () => (await import("@/components/form/choice/PersonFilter")).PersonFilter);

const NAMES = ["organisation", "actor", "kind_prefix", "subject", "since", "until"] as const;
type Name = (typeof NAMES)[number];

/** The beginnings of kinds that people look for. */
const KINDS = [
  { value: "", label: t`Everything` },
  { value: "membership.", label: t`Memberships` },
  { value: "role_binding.", label: t`Roles in teams and projects` },
  { value: "invitation.", label: t`Invitations` },
  { value: "project.", label: t`Projects` },
  { value: "team.", label: t`Teams` },
  { value: "quota.", label: t`Quotas` },
  { value: "job.", label: t`Jobs` },
  { value: "dataset.", label: t`Datasets` },
  { value: "model.", label: t`Models` },
  { value: "user.", label: t`Accounts` },
  { value: "token.", label: t`API tokens` },
  { value: "session.", label: t`Sessions` },
];

export function AuditPage() {
  const me = useMe();
  const { filters, filter, turn } = useFilters(NAMES);
  const events = useQuery(eventsQuery(filters));
  return (
    <Page title={t`Audit`} subtitle={t`Who did what, newest first. Events are never changed; each carries the hash of the one before.`}>
      {isStaff(me) && <Verification />}
      <Filters filters={filters} onChange={filter} />
      <Group gap="xs">
        {(["csv", "jsonl"] as const).map((form) => (
          <Button key={form} size="xs" variant="default" component="a" href={exportAddress(filters, form)} download>
            {form === "csv" ? t`Export CSV` : t`Export JSON lines`}
          </Button>
        ))}
      </Group>
      <PagedTable
        list={events}
        label={t`Events`}
        head={[t`When`, t`Who`, t`What`, t`Before`, t`After`, t`From`]}
        minWidth={900}
        empty={
          <EmptyState
            title={t`No events`}
            text={t`Nothing matches these filters.`}
            action={
              <Button variant="default" component={Link} to="/audit">
                {t`Show all events`}
              </Button>
            }
          />
        }
        row={(event) => (
          <Row key={event.id} event={event} onSubject={(id) => filter("subject", id)} onActor={(username) => filter("actor", username)} />
        )}
        onCursor={turn}
      />
    </Page>
  );
}

interface RowProps {
  event: Event;
  onSubject: (id: string) => void;
  /** Also of those who are gone, whom no list offers. */
  onActor: (username: string) => void;
}

function Row({ event, onSubject, onActor }: RowProps) {
  const { before, after, details, from } = describeAudit(event);
  const subject = event.subject_id;
  return (
    <Table.Tr>
      <Table.Td style={{ whiteSpace: "nowrap" }}>
        <RelativeTime at={event.at} />
      </Table.Td>
      <Table.Td>
        {event.actor ? <Actor username={event.actor.username} onChoose={onActor} /> : "MLHub"}
      </Table.Td>
      <Table.Td style={{ overflowWrap: "anywhere" }}>
        {event.kind}{" "}
        <Text span size="xs" c="dimmed">
          {details}
        </Text>
        {subject && (
          <Button size="compact-xs" variant="subtle" onClick={() => onSubject(subject)}>
            {t`Only this ${event.subject_kind}`}
          </Button>
        )}
      </Table.Td>
      <Table.Td style={{ overflowWrap: "anywhere" }}>{before}</Table.Td>
      <Table.Td style={{ overflowWrap: "anywhere" }}>{after}</Table.Td>
      <Table.Td>{from}</Table.Td>
    </Table.Tr>
  );
}

function Actor({ username, onChoose }: { username: string; onChoose: (username: string) => void }) {
  return (
    <Anchor component="button" type="button" size="sm" ta="left" title={t`Only what ${username} did`} onClick={() => onChoose(username)}>
      {username}
    </Anchor>
  );
}

function Filters({ filters, onChange }: { filters: Partial<Record<Name, string>>; onChange: (name: Name, value: string) => void }) {
  return (
    <Group gap="sm" align="end">
      <Suspense fallback={<TextInput size="xs" label={t`Organisation`} disabled />}>
        <OrganisationSelect
          size="xs"
          none={t`All`}
          value={filters.organisation ?? ""}
          onChange={(organisation) => onChange("organisation", organisation)}
        />
      </Suspense>
      <NativeSelect
        size="xs"
        label={t`Kind`}
        value={filters.kind_prefix ?? ""}
        onChange={(event) => onChange("kind_prefix", event.currentTarget.value)}
        data={KINDS}
      />
      <Suspense fallback={<TextInput size="xs" label={t`Person`} disabled />}>
        <PersonFilter
          label={t`Person`}
          placeholder={t`Name or e-mail address`}
          organisationId={filters.organisation}
          value={filters.actor ?? ""}
          onChange={(username) => onChange("actor", username)}
        />
      </Suspense>
      {(["since", "until"] as const).map((name) => (
        <TextInput
          key={name}
          size="xs"
          type="date"
          label={name === "since" ? t`From day` : t`Before day`}
          value={filters[name] ?? ""}
          onChange={(event) => onChange(name, event.currentTarget.value)}
        />
      ))}
      {filters.subject && (
        <Button size="xs" variant="light" onClick={() => onChange("subject", "")}>
          {t`All subjects`}
        </Button>
      )}
    </Group>
  );
}

function Verification() {
  const { data, error, isFetching, refetch } = useQuery(verificationQuery);
  return (
    <>
      <Group>
        <Button size="xs" variant="default" loading={isFetching} onClick={() => void refetch()}>
          {t`Verify the chain`}
        </Button>
      </Group>
      <ProblemAlert error={error} />
      {data && (
        <Alert color={data.is_intact ? "teal" : "red"} title={data.is_intact ? t`The chain is intact` : t`The chain is broken`}>
          {data.is_intact ? t`${plural(data.n_events, { one: "# event", other: "# events" })}, up to ${data.head}` : data.problem}
        </Alert>
      )}
    </>
  );
}
