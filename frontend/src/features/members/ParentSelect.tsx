// SPDX-License-Identifier: Apache-2.0
// What a team is below, and may be moved below. Of many teams, those to choose from are listed once somebody turns to the
// field: a table of hundreds of them would hold the square of that.
import { t } from "@lingui/core/macro";
import { NativeSelect } from "@mantine/core";
import { useState } from "react";

import { possibleParents, teamOptions, type TeamPlace } from "@/domain/teamTree";

const MANY = 20;

interface Props {
  place: TeamPlace;
  places: TeamPlace[];
  organisationName: string;
  error: string | undefined;
  onMove: (parent: string | null) => void;
}

export function ParentSelect({ place: { team }, places, organisationName, error, onMove }: Props) {
  const [isUsed, setUsed] = useState(places.length <= MANY);
  const above = team.parent?.id ?? "";
  const possible = isUsed ? possibleParents(team, places) : places.filter((one) => one.team.id === above);
  const use = () => setUsed(true);
  return (
    <NativeSelect
      size="xs"
      aria-label={t`What ${team.name} is below`}
      value={above}
      onPointerEnter={use}
      onFocus={use}
      onChange={(event) => onMove(event.currentTarget.value || null)}
      data={[{ value: "", label: organisationName }, ...teamOptions(possible)]}
      error={error}
    />
  );
}
