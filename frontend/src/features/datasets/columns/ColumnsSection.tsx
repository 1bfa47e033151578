// SPDX-License-Identifier: Apache-2.0
// The columns of a table: what is in each, and which are learned from. The choice is changed here, without an upload.
import { t } from "@lingui/core/macro";
import { Alert, Button, Group, NativeSelect, Stack, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";

import { api, unwrap } from "@/api/client";
import type { DatasetVersion } from "@/api/types";
import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { Icon } from "@/components/display/Icon";
import { ProblemAlert } from "@/components/feedback/ProblemAlert";
import { Section } from "@/components/layout/Section";
import { ColumnTable } from "@/features/datasets/columns/ColumnTable";
import { csvOfColumns } from "@/features/datasets/columns/csvOfColumns";
import { choiceOf, valuesOf } from "@/features/datasets/columns/choice";
import { remedyOnPage, TARGET_COLUMN } from "@/domain/remedies";
import type { TableStatistics } from "@/features/datasets/columns/statistics";

interface Props {
  version: DatasetVersion;
  statistics: TableStatistics;
  mayChoose: boolean;
  onChosen: (version: DatasetVersion) => void;
}

export function ColumnsSection({ version, statistics, mayChoose, onChosen }: Props) {
  const [values, setValues] = useState(() => valuesOf(version.options, statistics));
  const drawing = useRef<HTMLDivElement>(null);
  const queries = useQueryClient();
  const choose = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST("/api/v1/dataset-versions/{id}/columns", {
          params: { path: { id: version.id } },
          body: choiceOf(values),
        }),
      ),
    onSuccess: async (chosen) => {
      onChosen(chosen);
      await queries.invalidateQueries({ queryKey: ["dataset"] });
    },
  });
  const names = statistics.columns.map(({ name }) => name);
  const isWaiting = version.state === "needs_columns";
  return (
    <Section
      title={t`Columns`}
      order={3}
      aside={<FigureMenu name={t`Columns`} of={drawing} csv={() => csvOfColumns(statistics.columns)} />}
    >
      {isWaiting && <Problems statistics={statistics} />}
      {statistics.encoding !== "" && (
        <Text size="sm" c="dimmed">
          {t`The file is not UTF-8 and is read as ${statistics.encoding}. If letters look wrong, save it as UTF-8 and upload it again.`}
        </Text>
      )}
      {mayChoose && (
        <NativeSelect
          label={TARGET_COLUMN}
          description={t`What is to be predicted`}
          value={names.includes(values.target) ? values.target : ""}
          onChange={(event) => setValues({ ...values, target: event.currentTarget.value })}
          data={[{ value: "", label: t`Choose a column` }, ...names.map((name) => ({ value: name, label: name || t`(no name)` }))]}
          maw={360}
        />
      )}
      <div ref={drawing}>
        <ColumnTable statistics={statistics} values={values} onChange={mayChoose ? setValues : undefined} />
      </div>
      <ProblemAlert error={choose.error} />
      {mayChoose && (
        <Group gap="sm">
          <Button onClick={() => choose.mutate()} loading={choose.isPending} disabled={!values.target}>
            {t`Use these columns`}
          </Button>
          <Text size="sm" c="dimmed">
            {isWaiting ? t`The file is read again; it is not uploaded again.` : t`This makes a new version of the same file.`}
          </Text>
        </Group>
      )}
    </Section>
  );
}

function Problems({ statistics: { problems } }: { statistics: TableStatistics }) {
  return (
    <Alert color="yellow" role="alert" icon={<Icon name="alert" />} title={t`Choose the columns`}>
      <Stack gap={4}>
        {problems.map(({ column, message, remedy }, index) => (
          <Text key={`${column}-${String(index)}`} size="sm" style={{ overflowWrap: "anywhere" }}>
            {message} {remedyOnPage(remedy)}
          </Text>
        ))}
      </Stack>
    </Alert>
  );
}
