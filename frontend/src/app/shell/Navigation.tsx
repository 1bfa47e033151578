// SPDX-License-Identifier: Apache-2.0
// The ways to the pages, in groups with small headings; those of use to this person.
import { t } from "@lingui/core/macro";
import { NavLink, Stack, Text } from "@mantine/core";
import { Link, useLocation } from "react-router";

import { isAdminSomewhere, isStaff, useMe } from "@/api/session";
import type { Me } from "@/api/types";
import { Icon, type IconName } from "@/components/display/Icon";

interface Place {
  to: string;
  label: string;
  icon: IconName;
  isForStaff?: boolean;
  isForAdmins?: boolean;
}

const GROUPS: [heading: string, places: Place[]][] = [
  [
    t`Work`,
    [
      { to: "/", label: t`Home`, icon: "home" },
      { to: "/jobs", label: t`Jobs`, icon: "jobs" },
      { to: "/studies", label: t`Studies`, icon: "study" },
      { to: "/runs", label: t`Runs`, icon: "run" },
      { to: "/datasets", label: t`Datasets`, icon: "dataset" },
      { to: "/models", label: t`Models`, icon: "model" },
      { to: "/environments", label: t`Environments`, icon: "environment" },
    ],
  ],
  [
    t`Scheduling`,
    [
      { to: "/queue", label: t`Queue`, icon: "queue" },
      { to: "/cluster", label: t`Cluster`, icon: "cluster" },
      { to: "/scheduler", label: t`Scheduler`, icon: "scheduler", isForStaff: true },
    ],
  ],
  [
    t`Organisation`,
    [
      { to: "/members", label: t`Members`, icon: "team" },
      { to: "/users", label: t`Users`, icon: "user", isForStaff: true },
      { to: "/quotas", label: t`Quotas`, icon: "quota" },
      { to: "/usage", label: t`Usage`, icon: "usage" },
      { to: "/webhooks", label: t`Webhooks`, icon: "webhook", isForAdmins: true },
      { to: "/audit", label: t`Audit`, icon: "file", isForAdmins: true },
    ],
  ],
  [
    t`You`,
    [
      { to: "/account", label: t`Account`, icon: "account" },
      { to: "/tokens", label: t`API tokens`, icon: "token" },
    ],
  ],
];

/** Pages that are of no use to others are not offered; what one may see, the API decides. */
function isFor(me: Me, { isForStaff = false, isForAdmins = false }: Place): boolean {
  return (!isForStaff || isStaff(me)) && (!isForAdmins || isAdminSomewhere(me));
}

/** It scrolls by itself where the window is too low for it. */
export function Navigation({ onChoose }: { onChoose: () => void }) {
  const me = useMe();
  return (
    <Stack gap="xs" flex={1} mih={0} my="xs" className="navigation-groups">
      {GROUPS.map(([heading, places]) => (
        <div key={heading} role="group" aria-label={heading}>
          <Text size="xs" fw={600} c="dimmed" px="sm" pb={2} aria-hidden>
            {heading}
          </Text>
          {places
            .filter((place) => isFor(me, place))
            .map((place) => (
              <PlaceLink key={place.to} {...place} onChoose={onChoose} />
            ))}
        </div>
      ))}
    </Stack>
  );
}

function PlaceLink({ to, label, icon, onChoose }: Place & { onChoose: () => void }) {
  const { pathname } = useLocation();
  const isHere = isAt(pathname, to);
  return (
    <NavLink
      component={Link}
      to={to}
      label={label}
      leftSection={<Icon name={icon} />}
      active={isHere}
      aria-current={isHere ? "page" : undefined}
      onClick={onChoose}
      py={5}
      bdrs="md"
    />
  );
}

function isAt(pathname: string, place: string): boolean {
  return pathname === place || (place !== "/" && pathname.startsWith(`${place}/`));
}
