// SPDX-License-Identifier: Apache-2.0
// The field of runs from elsewhere that are next to the jobs: those in the address, and any that the API finds by name or project.
import { plural, t } from "@lingui/core/macro";
import { MultiSelect, Pill } from "@mantine/core";
import { useMemo } from "react";

import { runChoices } from "@/api/choices";
import { useChoices } from "@/components/form/choice/useChoices";

import { type ComparedRun, MOST_RUNS } from "./runs";

const MOST_PILLS = 12; // a thousand would fill the screen before the first curve

interface Props {
  /** All that are in the address. */
  ids: readonly string[];
  /** Of these those that are known. */
  compared: readonly ComparedRun[];
  /** Whether others are not there. */
  isRead: boolean;
  /** Whether it was just asked for, and is to be typed in. */
  isAsked: boolean;
  onChange: (ids: readonly string[]) => void;
}

export function RunChoice({ ids, compared, isRead, isAsked, onChange }: Props) {
  const choices = useChoices(runChoices);
  const names = useMemo(() => new Map(compared.map(({ id, name, project }) => [id, textOf(name, project)])), [compared]);
  const places = useMemo(() => new Map(ids.map((id, place) => [id, place])), [ids]);
  const nHidden = ids.length - MOST_PILLS;
  return (
    <MultiSelect
      size="xs"
      maw={640}
      label={t`Runs from elsewhere`}
      description={t`What MLflow's client logged, found by name or project; ${plural(MOST_RUNS, { one: "# run", other: "# runs" })} at most`}
      searchable
      clearable
      autoFocus={isAsked}
      maxValues={MOST_RUNS}
      {...choices.field}
      value={[...ids]}
      onChange={onChange}
      onKeyDown={(event) => {
        // It takes away the last one, which is hidden here
        if (event.key === "Backspace" && event.currentTarget.value === "" && nHidden > 0) event.preventDefault();
      }}
      data={choices.items.map(({ id, name, project }) => ({ value: id, label: textOf(name, project.name) }))}
      renderPill={({ value, onRemove }) => {
        const place = places.get(String(value)) ?? 0;
        if (place > MOST_PILLS) return null;
        if (place === MOST_PILLS) return <Pill>{t`and ${plural(nHidden, { one: "# more", other: "# more" })}`}</Pill>;
        return (
          <Pill withRemoveButton onRemove={() => onRemove?.()}>
            {names.get(String(value)) ?? (isRead ? t`not there any more` : "…")}
          </Pill>
        );
      }}
      nothingFoundMessage={t`No run's name or project contains this.`}
    />
  );
}

function textOf(name: string, project: string): string {
  return `${name} · ${project}`;
}
