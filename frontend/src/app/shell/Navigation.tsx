// SPDX-License-Identifier: Apache-2.0
// The ways to the pages, in groups with small headings; those of use to this person.
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
    "Work",
    [
      { to: "/", label: "Home", icon: "home" },
      { to: "/jobs", label: "Jobs", icon: "jobs" },
      { to: "/studies", label: "Studies", icon: "study" },
      { to: "/runs", label: "Runs", icon: "run" },
      { to: "/datasets", label: "Datasets", icon: "dataset" },
      { to: "/models", label: "Models", icon: "model" },
      { to: "/environments", label: "Environments", icon: "environment" },
    ],
  ],
  [
    "Scheduling",
    [
      { to: "/queue", label: "Queue", icon: "queue" },
      { to: "/cluster", label: "Cluster", icon: "cluster" },
      { to: "/scheduler", label: "Scheduler", icon: "scheduler", isForStaff: true },
    ],
  ],
  [
    "Organisation",
    [
      { to: "/members", label: "Members", icon: "team" },
      { to: "/users", label: "Users", icon: "user", isForStaff: true },
      { to: "/quotas", label: "Quotas", icon: "quota" },
      { to: "/usage", label: "Usage", icon: "usage" },
      { to: "/webhooks", label: "Webhooks", icon: "webhook", isForAdmins: true },
      { to: "/audit", label: "Audit", icon: "file", isForAdmins: true },
    ],
  ],
  [
    "You",
    [
      { to: "/account", label: "Account", icon: "account" },
      { to: "/tokens", label: "API tokens", icon: "token" },
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
