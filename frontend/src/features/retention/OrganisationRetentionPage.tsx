// SPDX-License-Identifier: Apache-2.0
// Within which bounds an organisation's projects keep what their jobs leave; admins choose others after a look at the effect.
import { t } from "@lingui/core/macro";
import { Alert, Anchor, List, NumberInput, Stack, Table, Text, Title } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { Link, useParams } from "react-router";

import { api, Problem, unwrap } from "@/api/client";
import { organisationQuery } from "@/api/choices";
import type { OrganisationRetention, RetentionEffect } from "@/api/types";
import { QueryResult } from "@/components/feedback/QueryResult";
import { BackLink } from "@/components/layout/BackLink";
import { Page } from "@/components/layout/Page";
import { ScrollTable } from "@/components/table/ScrollTable";
import { boundText, daysText, jobsText, KINDS, type RetentionKind } from "@/features/retention/kinds";
import {
  asRules,
  FIELD_LABELS,
  FIELDS,
  fieldLabels,
  type RuleField,
  type TypedRules,
  valueText,
} from "@/features/retention/organisationRules";
import { organisationRetentionQuery } from "@/features/retention/queries";
import { SavingRules } from "@/features/retention/SavingRules";
import { bytes, number } from "@/lib/quantities";

export function OrganisationRetentionPage() {
  const { id = "" } = useParams();
  const name = useQuery(organisationQuery(id)).data?.name;
  const rules = useQuery(organisationRetentionQuery(id));
  return (
    <Page
      title={name === undefined ? t`Retention` : t`Retention of ${name}`}
      subtitle={t`Within these bounds every project chooses for how many days it keeps what its jobs leave. Pinned checkpoints, models and datasets always stay.`}
      back={<BackLink to={`/members?organisation=${id}`}>{t`Members`}</BackLink>}
    >
      <QueryResult of={rules}>
        {(found) => <Rules key={found.version} organisationId={id} organisation={name ?? ""} rules={found} />}
      </QueryResult>
    </Page>
  );
}

interface RulesProps {
  organisationId: string;
  organisation: string;
  rules: OrganisationRetention;
}

function Rules({ organisationId, organisation, rules }: RulesProps) {
  const queries = useQueryClient();
  const [typed, setTyped] = useState<TypedRules>({});
  const params = { params: { path: { id: organisationId } } };
  const body = asRules(typed);
  const preview = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/organisations/{id}/retention/preview", { ...params, body })),
  });
  const save = useMutation({
    mutationFn: (version: number) =>
      unwrap(api.PATCH("/api/v1/organisations/{id}/retention", { ...params, body: { ...body, version } })),
    onSuccess: async () => {
      notifications.show({ message: t`The bounds are saved; what is due goes within some minutes.`, color: "teal" });
      await reload();
    },
  });
  const problem = save.error ?? preview.error;
  const isUnchanged = Object.keys(typed).length === 0;

  async function reload() {
    setTyped({});
    preview.reset();
    save.reset();
    await queries.invalidateQueries({ queryKey: ["retention"] });
  }

  function type(kind: RetentionKind, field: RuleField, value: string | number) {
    setTyped((before) => ({ ...before, [kind]: { ...before[kind], [field]: value } }));
    preview.reset();
    save.reset();
  }

  function submit(event: SubmitEvent) {
    event.preventDefault();
    save.mutate(rules.version);
  }

  return (
    <Stack>
      <form onSubmit={submit} aria-label={t`Bounds of retention`}>
        <ScrollTable
          label={t`Bounds of retention`}
          head={[t`What`, ...FIELDS.map((field) => FIELD_LABELS[field])]}
          minWidth={680}
        >
          {rules.kinds.map((row) => (
            <Table.Tr key={row.kind}>
              <Table.Td>
                {KINDS[row.kind]}
                <Text size="xs" c="dimmed">
                  {t`the installation: ${daysText(row.installation_days)}`}
                </Text>
                {row.installation_bounds.map((bound) => (
                  <Text key={bound.side} size="xs" c="dimmed">
                    {boundText(bound, organisation)}
                  </Text>
                ))}
              </Table.Td>
              {FIELDS.map((field) => (
                <Table.Td key={field}>
                  {rules.may_edit ? (
                    <NumberInput
                      aria-label={t`${FIELD_LABELS[field]}, days of ${KINDS[row.kind]}`}
                      placeholder={valueText(field, null)}
                      suffix={t` days`}
                      min={0}
                      allowNegative={false}
                      w={170}
                      value={typed[row.kind]?.[field] ?? row[field] ?? ""}
                      onChange={(value) => type(row.kind, field, value)}
                      error={problem instanceof Problem ? problem.of(`${row.kind}.${field}`) : undefined}
                    />
                  ) : (
                    valueText(field, row[field])
                  )}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </ScrollTable>
        <Text size="sm" c="dimmed" mt="xs">
          {t`At least: no rule removes it before, and people delete no job and no checkpoint before. At most: it is removed after. By default: for projects without a rule; 0 is for good.`}
        </Text>
        {preview.data && <Effects rows={preview.data} />}
        <SavingRules
          save={save}
          preview={preview}
          mayEdit={rules.may_edit}
          isUnchanged={isUnchanged}
          labels={fieldLabels()}
          textOf={(value) => (value === null ? t`none` : daysText(Number(value) || null))}
          onTheirs={() => void reload()}
        />
      </form>
      <Clamped rows={rules.clamped} organisation={organisation} />
    </Stack>
  );
}

function Effects({ rows }: { rows: RetentionEffect[] }) {
  const total = rows.reduce((sum, { n_bytes }) => sum + n_bytes, 0);
  const isSome = rows.some(({ n_items }) => n_items > 0);
  return (
    <Alert
      color={isSome ? "orange" : "blue"}
      role="status"
      mt="sm"
      title={isSome ? t`${bytes(total)} would be removed` : t`Nothing would be removed now`}
    >
      <List size="sm">
        {rows.map(({ project, kind, days_before, days_after, n_items, n_jobs, n_bytes }) => (
          <List.Item key={project.id + kind}>
            {t`${project.name}, ${KINDS[kind]}: ${daysText(days_after)} in place of ${daysText(days_before)}`}
            {n_items > 0 && t`; ${number(n_items)} of ${jobsText(n_jobs)} would go, ${bytes(n_bytes)}`}
          </List.Item>
        ))}
      </List>
      <Text size="xs" c="dimmed">
        {rows.length === 0 ? t`No project would keep anything for other days.` : t`For good. Nothing is removed before the bounds are saved.`}
      </Text>
    </Alert>
  );
}

function Clamped({ rows, organisation }: { rows: OrganisationRetention["clamped"]; organisation: string }) {
  if (rows.length === 0) return null;
  return (
    <section aria-label={t`Bounded rules`}>
      <Title order={2} size="h4" mb="xs">{t`Bounded rules`}</Title>
      <ScrollTable label={t`Bounded rules`} head={[t`Project`, t`What`, t`The rule`, t`Kept for`, t`Bound`]} minWidth={560}>
        {rows.map(({ project, kind, days, chosen_days, clamped_by }) => (
          <Table.Tr key={project.id + kind}>
            <Table.Td>
              <Anchor component={Link} to={`/projects/${project.id}/retention`} size="sm">
                {project.name}
              </Anchor>
            </Table.Td>
            <Table.Td>{KINDS[kind]}</Table.Td>
            <Table.Td>{daysText(chosen_days)}</Table.Td>
            <Table.Td>{daysText(days)}</Table.Td>
            <Table.Td>{clamped_by && boundText(clamped_by, organisation)}</Table.Td>
          </Table.Tr>
        ))}
      </ScrollTable>
    </section>
  );
}
