// SPDX-License-Identifier: Apache-2.0
// The trials of a study, the best first, with the job of each.
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Table, Text } from "@mantine/core";
import { useState } from "react";

import type { Study, Trial } from "@/api/types";
import { StateBadge } from "@/components/display/StateBadge";
import { TextLink } from "@/components/display/TextLink";
import { ScrollTable } from "@/components/table/ScrollTable";
import { TRIAL_STATUSES } from "@/domain/states/studyState";
import { lastValue, parametersText, ranked, shown } from "@/features/studies/values";

const FIRST = 50;

export function TrialsTable({ study, trials }: { study: Study; trials: readonly Trial[] }) {
  const [isWhole, setWhole] = useState(false);
  const rows = ranked(study, trials);
  return (
    <>
      <ScrollTable label={t`Trials`} head={[t`Trial`, t`Status`, study.unit === "steps" ? t`Steps` : t`Epochs`, study.metric, t`Hyperparameters`, t`Job`]} minWidth={720}>
        {rows.slice(0, isWhole ? rows.length : FIRST).map((trial) => (
          <Row key={trial.id} trial={trial} isBest={trial.id === study.best?.id} />
        ))}
      </ScrollTable>
      {rows.length > FIRST && !isWhole && (
        <Button variant="default" size="xs" onClick={() => setWhole(true)}>
          {t`Show all ${rows.length} trials`}
        </Button>
      )}
    </>
  );
}

function Row({ trial, isBest }: { trial: Trial; isBest: boolean }) {
  const value = lastValue(trial);
  return (
    <Table.Tr>
      <Table.Td>
        {trial.number}
        {isBest && (
          <Text span size="xs" c="dimmed">
            <Trans>
              {" "}
              best
            </Trans>
          </Text>
        )}
      </Table.Td>
      <Table.Td maw={260}>
        <StateBadge {...TRIAL_STATUSES[trial.status]} />
        {trial.message !== "" && <Text size="xs">{trial.message}</Text>}
      </Table.Td>
      <Table.Td>{shown(trial.epochs)}</Table.Td>
      <Table.Td>{value === undefined ? "–" : shown(value)}</Table.Td>
      <Table.Td style={{ overflowWrap: "anywhere" }}>{parametersText(trial.parameters)}</Table.Td>
      <Table.Td>{trial.job === null ? "–" : <TextLink to={`/jobs/${trial.job}`}>{t`Job of trial ${trial.number}`}</TextLink>}</Table.Td>
    </Table.Tr>
  );
}
