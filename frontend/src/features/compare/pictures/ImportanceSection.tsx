// SPDX-License-Identifier: Apache-2.0
// How much each setting in which the jobs differ matters for one of their results, measured as for the trials of a study.
import { plural, t } from "@lingui/core/macro";
import { Group, NativeSelect, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useRef } from "react";

import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { ShareBars, csvOfShares } from "@/components/chart/ShareBars";
import { QueryResult } from "@/components/feedback/QueryResult";
import { Section } from "@/components/layout/Section";
import { IMPORTANCE_METHOD } from "@/domain/importance";
import { number } from "@/lib/quantities";

import { importanceQuery } from "../queries";
import { type Compared, namesOf } from "../settings";
import { useSetting } from "@/components/chart/address/useSetting";

interface Props {
  compared: readonly Compared[];
  /** Names of results that are numbers. */
  results: readonly string[];
}

export function ImportanceSection({ compared, results }: Props) {
  const [chosen, setResult] = useSetting("result", "");
  const [first] = results;
  const result = results.includes(chosen) ? chosen : first;
  if (result === undefined) return null;
  return (
    <Section title={t`Importance`}>
      <NativeSelect size="xs" maw={320} label={t`For the result`} value={result} onChange={(event) => setResult(event.currentTarget.value)} data={[...results]} />
      <Shares compared={compared} result={result} />
    </Section>
  );
}

function Shares({ compared, result }: { compared: readonly Compared[]; result: string }) {
  const drawing = useRef<HTMLDivElement>(null);
  const rows = useMemo(() => {
    const reached = compared.map(({ results }) => results.get(result) ?? null);
    const names = namesOf(compared.map(({ settings }) => settings), true);
    return {
      results: reached.map((value) => (typeof value === "number" ? value : null)),
      parameters: Object.fromEntries(names.map((name) => [name, compared.map(({ settings }) => settings.get(name) ?? null)])),
    };
  }, [compared, result]);
  return (
    <QueryResult of={useQuery(importanceQuery(rows))} label={t`Measuring`}>
      {({ parameters, n_rows, needed }) => (
        <Group align="start" gap="sm" wrap="nowrap">
          <Stack gap="xs" flex={1} miw={0} ref={drawing}>
            <ShareBars
              shares={parameters.map(({ name, share, n, correlation }) => ({
                name,
                share,
                note: (
                  <Text span size="xs" c="dimmed">
                    {correlation !== null && t` · correlation ${number(Number(correlation.toFixed(2)))}`}
                    {n < n_rows && t` · of ${n} rows`}
                  </Text>
                ),
              }))}
            />
            <Text size="xs" c="dimmed">
              {n_rows < needed
                ? t`Needs ${needed} jobs or runs with this result; there are ${n_rows}.`
                : t`${IMPORTANCE_METHOD} By ${plural(n_rows, { one: "# job or run", other: "# jobs or runs" })}: what was tried, not what would happen elsewhere.`}
            </Text>
          </Stack>
          <FigureMenu name={t`Importance for ${result}`} of={drawing} csv={() => csvOfShares(parameters)} />
        </Group>
      )}
    </QueryResult>
  );
}
