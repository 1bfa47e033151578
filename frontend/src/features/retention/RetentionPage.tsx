// SPDX-License-Identifier: Apache-2.0
// How long a project keeps what its jobs leave, and what that takes; admins choose other days after a look at the effect.
import { t } from "@lingui/core/macro";
import { Alert, Anchor, Badge, List, NumberInput, Table, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { Link, useParams } from "react-router";

import { api, Problem, unwrap } from "@/api/client";
import { projectQuery } from "@/api/tenants/projects";
import type { EffectiveDays, Reclaimable, Retention } from "@/api/types";
import { QueryResult } from "@/components/feedback/QueryResult";
import { BackLink } from "@/components/layout/BackLink";
import { Page } from "@/components/layout/Page";
import { ScrollTable } from "@/components/table/ScrollTable";
import { asDays, boundText, daysText, jobsText, KINDS, type RetentionKind, ruleText, type TypedDays } from "@/features/retention/kinds";
import { retentionQuery } from "@/features/retention/queries";
import { SavingRules } from "@/features/retention/SavingRules";
import { bytes, number } from "@/lib/quantities";

export function RetentionPage() {
  const { id = "" } = useParams();
  const project = useQuery(projectQuery(id)).data;
  const rules = useQuery(retentionQuery(id));
  return (
    <Page
      title={project === undefined ? t`Retention` : t`Retention of ${project.name}`}
      subtitle={t`For how many days the project keeps what its jobs leave. Pinned checkpoints, models and datasets always stay.`}
      back={<BackLink to="/members">{t`Members`}</BackLink>}
    >
      <QueryResult of={rules}>{(found) => <Rules key={found.version} projectId={id} rules={found} />}</QueryResult>
    </Page>
  );
}

function Rules({ projectId, rules }: { projectId: string; rules: Retention }) {
  const queries = useQueryClient();
  const [typed, setTyped] = useState<TypedDays>({});
  const params = { params: { path: { id: projectId } } };
  const days = asDays(typed);
  const preview = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/projects/{id}/retention/preview", { ...params, body: days })),
  });
  const save = useMutation({
    mutationFn: (version: number) =>
      unwrap(api.PATCH("/api/v1/projects/{id}/retention", { ...params, body: { ...days, version } })),
    onSuccess: async () => {
      notifications.show({ message: t`The rules are saved; what is due goes within some minutes.`, color: "teal" });
      await reload();
    },
  });
  const problem = save.error ?? preview.error;
  const { organisation } = rules;
  const isUnchanged = Object.keys(typed).length === 0;

  async function reload() {
    setTyped({});
    preview.reset();
    save.reset();
    await queries.invalidateQueries({ queryKey: retentionQuery(projectId).queryKey });
  }

  function type(kind: RetentionKind, value: string | number) {
    setTyped((before) => ({ ...before, [kind]: value }));
    preview.reset();
    save.reset();
  }

  function submit(event: SubmitEvent) {
    event.preventDefault();
    save.mutate(rules.version);
  }

  return (
    <form onSubmit={submit} aria-label={t`Rules of retention`}>
      <ScrollTable label={t`Rules of retention`} head={[t`What`, t`Kept for`, t`Stored`, t`Other days`]} minWidth={640}>
        {rules.kinds.map(({ kind, is_own, default_days, bounds, stored, due, ...effective }) => (
          <Table.Tr key={kind}>
            <Table.Td>{KINDS[kind]}</Table.Td>
            <Table.Td>
              <Kept effective={effective} organisation={organisation.name} />
            </Table.Td>
            <Table.Td>
              {stored.n_items === 0 ? "–" : t`${bytes(stored.n_bytes)} of ${jobsText(stored.n_jobs)}`}
              {due.n_items > 0 && (
                <Text size="xs" c="dimmed" role="status">
                  {t`${bytes(due.n_bytes)} of ${jobsText(due.n_jobs)} past its days: being removed`}
                </Text>
              )}
            </Table.Td>
            <Table.Td>
              {rules.may_edit && (
                <NumberInput
                  aria-label={t`Days of ${KINDS[kind]}`}
                  description={
                    <>
                      {t`0: for good; empty: ${daysText(default_days)}`}
                      {bounds.map((bound) => (
                        <Text key={bound.owner + bound.side} span inherit display="block">
                          {boundText(bound, organisation.name)}
                        </Text>
                      ))}
                    </>
                  }
                  min={0}
                  allowNegative={false}
                  w={220}
                  value={typed[kind] ?? (is_own ? (effective.chosen_days ?? 0) : "")}
                  onChange={(value) => type(kind, value)}
                  error={problem instanceof Problem ? problem.of(kind) : undefined}
                />
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </ScrollTable>
      <Anchor component={Link} to={`/organisations/${organisation.id}/retention`} size="sm" mt="xs" display="inline-block">
        {t`Bounds of ${organisation.name} for all its projects`}
      </Anchor>
      {preview.data && <Effect rows={preview.data} />}
      <SavingRules
        save={save}
        preview={preview}
        mayEdit={rules.may_edit}
        isUnchanged={isUnchanged}
        labels={KINDS}
        textOf={(value) => (value === null ? t`by default` : daysText(Number(value) || null))}
        onTheirs={() => void reload()}
      />
    </form>
  );
}

/** What holds: the days, whose rule they are, and which bound made them of other ones. */
function Kept({ effective, organisation }: { effective: EffectiveDays; organisation: string }) {
  const { days, rule_of, chosen_days, clamped_by } = effective;
  return (
    <>
      {daysText(days)}
      {rule_of !== "project" && (
        <Text span size="xs" c="dimmed">
          {" "}
          ({ruleText(rule_of, organisation)})
        </Text>
      )}
      {clamped_by && (
        <Text size="xs" c="dimmed">
          <Badge component="span" size="xs" color="orange" variant="light" mr={4}>
            {t`bounded`}
          </Badge>
          {t`${daysText(chosen_days)} by the rule; ${boundText(clamped_by, organisation)}`}
        </Text>
      )}
    </>
  );
}

function Effect({ rows }: { rows: Reclaimable[] }) {
  const gone = rows.filter(({ n_items }) => n_items > 0);
  const total = gone.reduce((sum, { n_bytes }) => sum + n_bytes, 0);
  return (
    <Alert
      color={gone.length > 0 ? "orange" : "blue"}
      role="status"
      mt="sm"
      title={gone.length > 0 ? t`${bytes(total)} would be removed` : t`Nothing would be removed now`}
    >
      <List size="sm">
        {gone.map(({ kind, n_items, n_jobs, n_bytes }) => (
          <List.Item key={kind}>{t`${KINDS[kind]}: ${number(n_items)} of ${jobsText(n_jobs)}, ${bytes(n_bytes)}`}</List.Item>
        ))}
      </List>
      <Text size="xs" c="dimmed">
        {t`For good. Nothing is removed before the rules are saved.`}
      </Text>
    </Alert>
  );
}
