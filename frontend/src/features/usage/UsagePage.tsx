// SPDX-License-Identifier: Apache-2.0
// GPU-hours: who held how many, when, what became of them, how busy the GPUs were and what they cost, as bars, a table and
// a CSV file; and what is left of budgets.
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Group, NativeSelect, SegmentedControl, Table, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";

import { type ChoiceSource, choicesQuery, organisationChoices, useChosen } from "@/api/choices";
import { isStaff, useMe } from "@/api/session";
import { teamChoices } from "@/api/tenants/teams";
import type { OrganisationBrief, UsageDimension, UsageReport, UsageRow } from "@/api/types";
import { EmptyState } from "@/components/feedback/EmptyState";
import { QueryResult } from "@/components/feedback/QueryResult";
import { SearchSelect } from "@/components/form/choice/SearchSelect";
import { TeamSelect } from "@/components/form/choice/TeamSelect";
import { DownloadButton } from "@/components/form/DownloadButton";
import { Page } from "@/components/layout/Page";
import { SectionCard } from "@/components/layout/Section";
import { ScrollTable } from "@/components/table/ScrollTable";
import { useFilters } from "@/components/table/useFilters";
import { gpuHours, hourDigits, measuredPart, money, part } from "@/features/usage/quantities";
import { day, daysAgo, usageParams, usageQuery, type UsageWindow } from "@/features/usage/queries";
import { BUSY, OUTCOME, UsageBars } from "@/features/usage/UsageBars";
import { UsageBudgets } from "@/features/usage/UsageBudgets";
import { WasteWaterfall } from "@/features/usage/WasteWaterfall";
import { busySteps, outcomeSteps } from "@/features/usage/waterfall";

const NAMES = ["view", "organisation", "team", "by", "since", "until"] as const;
const USUAL_DAYS = 29;
/** Organisations whose budgets are shown; of more, one chooses. */
const MOST_SHOWN = 5;

const DIMENSIONS: Record<UsageDimension, string> = {
  project: t`Project`,
  user: t`Person`,
  team: t`Team`,
  organisation: t`Organisation`,
  gpu_type: t`GPU type`,
  job: t`Job`,
  outcome: t`Outcome of the attempt`,
  day: t`Day`,
};

function isDimension(text: string | undefined): text is UsageDimension {
  return text !== undefined && text in DIMENSIONS;
}

export function UsagePage() {
  const { filters, filter } = useFilters(NAMES);
  const reached = useReached();
  const offered = useQuery(choicesQuery(reached)).data;
  const named = useChosen(reached, filters.organisation ?? "");
  const view = filters.view === "budgets" ? "budgets" : "";
  const by = isDimension(filters.by) ? filters.by : "project";
  const chosen = filters.organisation === undefined ? (offered?.results ?? []) : named === undefined ? [] : [named];
  const only = chosen.length === 1 ? chosen[0] : undefined;
  const window: UsageWindow = {
    ...(filters.organisation && { organisation: filters.organisation }),
    ...(only && filters.team && { team: filters.team }),
    since: day(filters.since) ?? daysAgo(USUAL_DAYS),
    until: day(filters.until) ?? daysAgo(0),
  };
  const file = `/api/v1/usage/export?${new URLSearchParams(usageParams(window, by)).toString()}`;
  return (
    <Page
      title={t`Usage`}
      subtitle={t`GPU-hours held by jobs, running ones included. Jobs that share a GPU divide its time. Entries are never changed.`}
      actions={view === "" && <DownloadButton href={file}>{t`CSV`}</DownloadButton>}
    >
      <SegmentedControl
        aria-label={t`View`}
        value={view}
        onChange={(value) => filter("view", value)}
        data={[
          { value: "", label: t`GPU-hours` },
          { value: "budgets", label: t`Budgets` },
        ]}
        style={{ alignSelf: "start" }}
      />
      <Group gap="sm" align="end">
        <SearchSelect
          size="xs"
          label={t`Organisation`}
          allowDeselect={false}
          source={reached}
          textOf={({ name }) => name}
          extra={[{ value: "", label: t`All` }]}
          value={filters.organisation ?? ""}
          onChange={(value) => filter("organisation", value, "team")}
        />
        {view === "" && only && <TeamFilter organisationId={only.id} value={window.team} onChange={(team) => filter("team", team)} />}
        {view === "" && <ReportFilters window={window} by={by} onChange={filter} />}
      </Group>
      {view === "" ? <GpuHours window={window} by={by} /> : <UsageBudgets organisations={chosen.slice(0, MOST_SHOWN)} />}
    </Page>
  );
}

function GpuHours({ window, by }: { window: UsageWindow; by: UsageDimension }) {
  const days = useQuery(usageQuery(window, "day"));
  const groups = useQuery(usageQuery(window, by));
  return (
    <>
      <QueryResult of={days} label={t`Loading usage`}>
        {(report) => report.total.gpu_hours > 0 && <Days report={report} />}
      </QueryResult>
      <QueryResult of={groups} label={t`Loading usage`}>
        {(report) => <Groups report={report} by={by} />}
      </QueryResult>
    </>
  );
}

function Days({ report: { total, rows, currency } }: { report: UsageReport }) {
  return (
    <SectionCard title={gpuHours(total.gpu_hours)} aside={total.cost !== null && <Text size="sm">{money(total.cost, currency)}</Text>}>
      <Text size="sm" mb="sm">
        <Trans>
          {plural(total.n_jobs, { one: "# job", other: "# jobs" })}. Useful {part(total.useful_gpu_hours, total.gpu_hours)}, start-up before the first step{" "}
          {part(total.startup_gpu_hours, total.gpu_hours)}, lost after the last checkpoint of preempted or failed attempts{" "}
          {part(total.lost_gpu_hours, total.gpu_hours)}.
        </Trans>
      </Text>
      <WasteWaterfall title={t`What the GPU-hours were for`} steps={outcomeSteps(total)} />
      <UsageBars days={rows} parts={OUTCOME} label={picture(rows)} />
      <HowBusy total={total} days={rows} />
    </SectionCard>
  );
}

function HowBusy({ total, days }: { total: UsageRow; days: UsageRow[] }) {
  const { busy_gpu_hours: busy, idle_gpu_hours: idle, measured_gpu_hours: measured, gpu_hours: held } = total;
  if (busy === null || idle === null) {
    return (
      <Text size="sm" c="dimmed" mt="md">
        {t`How busy GPUs were was not measured: no pod of these jobs found NVIDIA's driver.`}
      </Text>
    );
  }
  return (
    <>
      <Text size="sm" mt="lg" mb="sm">
        <Trans>
          How busy GPUs were was measured for {part(measured, held)}: busy {part(busy, measured)}, idle {part(idle, measured)}.
        </Trans>
      </Text>
      <WasteWaterfall title={t`How busy the GPUs were`} steps={busySteps(total)} />
      <UsageBars days={days} parts={BUSY} label={t`How busy GPUs were by day: busy ${part(busy, measured)}, idle ${part(idle, measured)}`} />
    </>
  );
}

function picture(days: UsageRow[]): string {
  const most = Math.max(...days.map((row) => row.gpu_hours), 0);
  return t`GPU-hours of ${plural(days.length, { one: "# day", other: "# days" })}, at most ${gpuHours(most)} a day`;
}

function Groups({ report, by }: { report: UsageReport; by: UsageDimension }) {
  if (report.rows.length === 0) {
    return (
      <EmptyState
        title={t`No GPU-hours`}
        text={t`No job held a GPU in this time. Choose other days, or submit a job.`}
        action={
          <Button component={Link} to="/jobs/new">
            {t`New job`}
          </Button>
        }
      />
    );
  }
  return (
    <ScrollTable
      label={t`GPU-hours: ${DIMENSIONS[by]}`}
      head={[DIMENSIONS[by], t`GPU-hours`, t`Useful`, t`Start-up`, t`Lost`, t`Busy`, t`Idle`, t`Jobs`, t`Cost`]}
      minWidth={860}
    >
      {report.rows.map((row) => (
        <Row key={row.key} row={row} currency={report.currency} />
      ))}
    </ScrollTable>
  );
}

function Row({ row, currency }: { row: UsageRow; currency: string }) {
  return (
    <Table.Tr style={{ fontVariantNumeric: "tabular-nums" }}>
      <Table.Td style={{ overflowWrap: "anywhere" }}>{row.name}</Table.Td>
      <Table.Td>{hourDigits(row.gpu_hours)}</Table.Td>
      <Table.Td>{part(row.useful_gpu_hours, row.gpu_hours)}</Table.Td>
      <Table.Td>{part(row.startup_gpu_hours, row.gpu_hours)}</Table.Td>
      <Table.Td>{part(row.lost_gpu_hours, row.gpu_hours)}</Table.Td>
      <Table.Td>{measuredPart(row.busy_gpu_hours, row.measured_gpu_hours, t`not measured`)}</Table.Td>
      <Table.Td>{measuredPart(row.idle_gpu_hours, row.measured_gpu_hours, "–")}</Table.Td>
      <Table.Td>{row.n_jobs}</Table.Td>
      <Table.Td>{money(row.cost, currency)}</Table.Td>
    </Table.Tr>
  );
}

/** Those whose use this person sees, as a whole or, as an outsider, in part. */
function useReached(): ChoiceSource<OrganisationBrief> {
  const me = useMe();
  if (isStaff(me)) return { ...organisationChoices(), idOf: ({ id }) => id };
  const own = me.memberships.map(({ organisation }) => organisation);
  return {
    key: ["organisations", "choices", "of", me.id],
    read: () => Promise.resolve({ previous: null, next: null, results: own }),
    idOf: ({ id }) => id,
  };
}

interface TeamFilterProps {
  organisationId: string;
  value: string | undefined;
  onChange: (team: string) => void;
}

/** One team with all teams below it; nothing where there are none. */
function TeamFilter({ organisationId, value, onChange }: TeamFilterProps) {
  const teams = useQuery(choicesQuery(teamChoices(organisationId))).data?.results ?? [];
  if (teams.length === 0) return null;
  return (
    <TeamSelect size="xs" label={t`Team with all below it`} organisationId={organisationId} none={t`All`} value={value ?? ""} onChange={onChange} />
  );
}

interface ReportFiltersProps {
  window: UsageWindow;
  by: UsageDimension;
  onChange: (name: (typeof NAMES)[number], value: string) => void;
}

function ReportFilters({ window, by, onChange }: ReportFiltersProps) {
  return (
    <>
      <NativeSelect
        size="xs"
        label={t`Group by`}
        value={by}
        onChange={(event) => onChange("by", event.currentTarget.value)}
        data={Object.entries(DIMENSIONS).map(([value, label]) => ({ value, label }))}
      />
      {(["since", "until"] as const).map((name) => (
        <TextInput
          key={name}
          size="xs"
          type="date"
          label={name === "since" ? t`From day` : t`To day`}
          value={window[name]}
          onChange={(event) => onChange(name, event.currentTarget.value)}
        />
      ))}
    </>
  );
}
