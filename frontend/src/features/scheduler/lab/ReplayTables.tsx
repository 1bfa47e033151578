// SPDX-License-Identifier: Apache-2.0
// The figures of a comparison as tables: every policy against the one that ran, by organisation, and the worst-hit jobs.
import { t } from "@lingui/core/macro";
import { Anchor, Table, Text } from "@mantine/core";
import { Link } from "react-router";

import type { ReplayedPolicy, ReplayResult } from "@/api/types";
import { TextLink } from "@/components/display/TextLink";
import { Section } from "@/components/layout/Section";
import { ScrollTable } from "@/components/table/ScrollTable";
import { number, percent } from "@/lib/quantities";
import { duration, shortDuration } from "@/lib/time";

import { signedPercent } from "./replayText";

const NUMERIC = { fontVariantNumeric: "tabular-nums" } as const;

type Figures = NonNullable<ReplayedPolicy["figures"]>;

export function PolicyTable({ result }: { result: ReplayResult }) {
  const baseline = result.policies[0]?.figures ?? null;
  const head = [t`Policy`, t`Mean`, t`Median`, t`99th percentile`, t`Makespan`, t`GPU use`, t`Restarts`, t`Decision`, ""];
  return (
    <Section title={t`Policies`}>
      <ScrollTable label={t`Policies`} head={head} minWidth={880}>
        {result.real && (
          <Table.Tr style={NUMERIC}>
            <Table.Th scope="row">{t`What really happened`}</Table.Th>
            <Table.Td>{duration(result.real.mean_jct_s)}</Table.Td>
            <Table.Td>{duration(result.real.median_jct_s)}</Table.Td>
            <Table.Td>{duration(result.real.p99_jct_s)}</Table.Td>
            <Table.Td colSpan={5}>
              <Text size="xs" c="dimmed">
                {t`${number(result.real.n_jobs)} jobs that have ended`}
              </Text>
            </Table.Td>
          </Table.Tr>
        )}
        {result.policies.map((policy, index) => (
          <PolicyRow key={policy.label} policy={policy} baseline={index === 0 ? null : baseline} isFirst={index === 0} isTrace={result.real === null} />
        ))}
      </ScrollTable>
    </Section>
  );
}

interface PolicyRowProps {
  policy: ReplayedPolicy;
  /** Null for the policy that the others are compared with. */
  baseline: Figures | null;
  isFirst: boolean;
  isTrace: boolean;
}

function PolicyRow({ policy, baseline, isFirst, isTrace }: PolicyRowProps) {
  const { figures, parameters } = policy;
  const given = Object.entries(parameters).map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  const search = new URLSearchParams({ policy: policy.policy, parameters: JSON.stringify(parameters) });
  return (
    <Table.Tr style={NUMERIC}>
      <Table.Th scope="row" style={{ whiteSpace: "normal", overflowWrap: "anywhere", minWidth: 130, maxWidth: 200 }}>
        {policy.label}
        <Text size="xs" c="dimmed" fw={400}>
          {[isFirst && (isTrace ? t`decides now` : t`ran, simulated`), ...given].filter(Boolean).join(" · ")}
        </Text>
      </Table.Th>
      {figures === null ? (
        <Table.Td colSpan={8} style={{ overflowWrap: "anywhere" }}>
          <Text size="sm" c="var(--mantine-color-error)">
            {policy.error}
          </Text>
        </Table.Td>
      ) : (
        <>
          <Time of={figures.mean_jct_s} before={baseline?.mean_jct_s} />
          <Time of={figures.median_jct_s} before={baseline?.median_jct_s} />
          <Time of={figures.p99_jct_s} before={baseline?.p99_jct_s} />
          <Time of={figures.makespan_s} before={baseline?.makespan_s} />
          <Table.Td>{percent(figures.gpu_use)}</Table.Td>
          <Table.Td>{number(figures.n_restarts)}</Table.Td>
          <Table.Td>{shortDuration(figures.decide_ms / 1000)}</Table.Td>
          <Table.Td>
            {!isFirst && (
              <Anchor component={Link} to={`/scheduler?${search.toString()}`} size="sm" style={{ whiteSpace: "nowrap" }} aria-label={t`Use this policy: ${policy.label}`}>
                {t`Use this policy`}
              </Anchor>
            )}
          </Table.Td>
        </>
      )}
    </Table.Tr>
  );
}

function Time({ of, before }: { of: number; before: number | undefined }) {
  return (
    <Table.Td style={{ whiteSpace: "nowrap" }}>
      {duration(of)}
      {before !== undefined && before > 0 && (
        <Text span size="xs" c="dimmed" ml={6}>
          {signedPercent(of / before - 1)}
        </Text>
      )}
    </Table.Td>
  );
}

export function OrganisationTable({ result }: { result: ReplayResult }) {
  const simulated = result.policies.filter(({ figures }) => figures !== null);
  const names = simulated[0]?.figures?.by_organisation ?? [];
  if (names.length === 0) return null;
  return (
    <Section title={t`Mean completion time by organisation`}>
      <ScrollTable label={t`Mean completion time by organisation`} head={[t`Organisation`, t`Jobs`, ...simulated.map(({ label }) => label)]}>
        {names.map(({ organisation, n_jobs, mean_jct_s }) => (
          <Table.Tr key={organisation} style={NUMERIC}>
            <Table.Th scope="row">{organisation}</Table.Th>
            <Table.Td>{number(n_jobs)}</Table.Td>
            {simulated.map(({ label, figures }, index) => {
              const own = figures?.by_organisation.find((one) => one.organisation === organisation);
              return own ? <Time key={label} of={own.mean_jct_s} before={index === 0 ? undefined : mean_jct_s} /> : <Table.Td key={label}>–</Table.Td>;
            })}
          </Table.Tr>
        ))}
      </ScrollTable>
    </Section>
  );
}

export function WorstHitTable({ result, isHistory }: { result: ReplayResult; isHistory: boolean }) {
  const rows = result.policies.slice(1).flatMap(({ label, figures }) => (figures?.worst_hit ?? []).map((hit) => ({ label, ...hit })));
  return (
    <Section title={t`Worst-hit jobs`}>
      {rows.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t`No job ends later than under the policy that it is compared with.`}
        </Text>
      ) : (
        <ScrollTable label={t`Worst-hit jobs`} head={[t`Policy`, t`Job`, t`Organisation`, t`Takes`, t`Instead of`]}>
          {rows.map((hit) => (
            <Table.Tr key={`${hit.label} ${hit.job}`} style={NUMERIC}>
              <Table.Td>{hit.label}</Table.Td>
              <Table.Td style={{ overflowWrap: "anywhere" }}>{isHistory ? <TextLink to={`/jobs/${hit.job}`}>{hit.name}</TextLink> : hit.name}</Table.Td>
              <Table.Td>{hit.organisation}</Table.Td>
              <Time of={hit.jct_s} before={hit.baseline_jct_s} />
              <Table.Td>{duration(hit.baseline_jct_s)}</Table.Td>
            </Table.Tr>
          ))}
        </ScrollTable>
      )}
    </Section>
  );
}
