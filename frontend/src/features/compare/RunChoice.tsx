// SPDX-License-Identifier: Apache-2.0
// Which runs from elsewhere are next to the jobs: the newest ones, and those that are in the address.
import { plural, t } from "@lingui/core/macro";
import { MultiSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { type ComparedRun, MOST_RUNS, newestRunsQuery } from "./runs";

const MOST_PILLS = 50; // more would hide the page

interface Props {
  chosen: readonly ComparedRun[];
  onChange: (ids: readonly string[]) => void;
}

export function RunChoice({ chosen, onChange }: Props) {
  const newest = useQuery(newestRunsQuery).data?.results ?? [];
  if (newest.length === 0 && chosen.length === 0) return null;
  if (chosen.length > MOST_PILLS) return null;
  const known = new Map([
    ...newest.map(({ id, name, project }) => [id, `${name} · ${project.name}`] as const),
    ...chosen.map(({ id, name, project }) => [id, `${name} · ${project}`] as const),
  ]);
  return (
    <MultiSelect
      size="xs"
      maw={640}
      label={t`Runs from elsewhere`}
      description={t`What MLflow's client logged; ${plural(MOST_RUNS, { one: "# run", other: "# runs" })} at most`}
      searchable
      clearable
      maxValues={MOST_RUNS}
      value={chosen.map(({ id }) => id)}
      onChange={onChange}
      data={[...known].map(([value, label]) => ({ value, label }))}
      nothingFoundMessage={t`No such run among the newest`}
    />
  );
}
