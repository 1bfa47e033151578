// SPDX-License-Identifier: Apache-2.0
// The ways to the pages, in groups with small headings; as icons alone where it is folded.
import { Text } from "@mantine/core";
import { Link, useLocation } from "react-router";

import { useMe } from "@/api/session";
import { Icon } from "@/components/display/Icon";

import { GROUPS, type Place, isFor, placeOf } from "./places";
import classes from "./Navigation.module.css";

/** It scrolls by itself where the window is too low for it. */
export function Navigation({ isFolded, onChoose }: { isFolded: boolean; onChoose: () => void }) {
  const me = useMe();
  const here = placeOf(useLocation().pathname)?.to;
  return (
    <div className={classes.groups} data-folded={isFolded || undefined}>
      {GROUPS.map(([heading, places]) => (
        <div key={heading} role="group" aria-label={heading} className={classes.group}>
          <Text size="xs" fw={600} c="dimmed" className={classes.heading} aria-hidden>
            {heading}
          </Text>
          {places
            .filter((place) => isFor(me, place))
            .map((place) => (
              <PlaceLink key={place.to} {...place} isHere={place.to === here} onChoose={onChoose} />
            ))}
        </div>
      ))}
    </div>
  );
}

function PlaceLink({ to, label, icon, isHere, onChoose }: Place & { isHere: boolean; onChoose: () => void }) {
  return (
    <Link to={to} className={classes.place} aria-current={isHere ? "page" : undefined} title={label} onClick={onChoose}>
      <Icon name={icon} size={16} />
      <span className={classes.label}>{label}</span>
    </Link>
  );
}
