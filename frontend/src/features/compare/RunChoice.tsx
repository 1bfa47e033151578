// SPDX-License-Identifier: Apache-2.0
// Which runs from elsewhere are next to the jobs: the newest ones, and those that are in the address.
import { plural, t } from "@lingui/core/macro";
import { MultiSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { type ComparedRun, newestRunsQuery } from "./runs";

const MOST_CHOSEN = 50; // each is a pill; more come from the list of runs

interface Props {
  chosen: readonly ComparedRun[];
  onChange: (ids: readonly string[]) => void;
}

export function RunChoice({ chosen, onChange }: Props) {
  const newest = useQuery(newestRunsQuery).data?.results ?? [];
  if (newest.length + chosen.length === 0 || chosen.length > MOST_CHOSEN) return null;
  const known = new Map([
    ...newest.map(({ id, name, project }) => [id, `${name} · ${project.name}`] as const),
    ...chosen.map(({ id, name, project }) => [id, `${name} · ${project}`] as const),
  ]);
  return (
    <MultiSelect
      size="xs"
      maw={640}
      label={t`Runs from elsewhere`}
      description={t`What MLflow's client logged; ${plural(MOST_CHOSEN, { one: "# run", other: "# runs" })} at most`}
      searchable
      clearable
      maxValues={MOST_CHOSEN}
      value={chosen.map(({ id }) => id)}
      onChange={onChange}
      data={[...known].map(([value, label]) => ({ value, label }))}
      nothingFoundMessage={t`No such run among the newest`}
    />
  );
}
