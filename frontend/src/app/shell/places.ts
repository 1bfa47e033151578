// SPDX-License-Identifier: Apache-2.0
// The pages that the navigation and the command palette lead to, in groups; those of use to this person.
import { t } from "@lingui/core/macro";

import { isAdminSomewhere, isStaff } from "@/api/session";
import type { Me } from "@/api/types";
import type { IconName } from "@/components/display/Icon";

export interface Place {
  to: string;
  label: string;
  icon: IconName;
  /** Pressed after "g" it leads there. */
  letter?: string;
  isForStaff?: boolean;
  isForAdmins?: boolean;
}

export const GROUPS: readonly (readonly [heading: string, places: readonly Place[]])[] = [
  [
    t`Work`,
    [
      { to: "/", label: t`Home`, icon: "home", letter: "h" },
      { to: "/jobs", label: t`Jobs`, icon: "jobs", letter: "j" },
      { to: "/studies", label: t`Studies`, icon: "study", letter: "s" },
      { to: "/runs", label: t`Runs`, icon: "run", letter: "r" },
      { to: "/datasets", label: t`Datasets`, icon: "dataset", letter: "d" },
      { to: "/models", label: t`Models`, icon: "model", letter: "m" },
      { to: "/environments", label: t`Environments`, icon: "environment", letter: "e" },
    ],
  ],
  [
    t`Cluster`,
    [
      { to: "/queue", label: t`Queue`, icon: "queue", letter: "q" },
      { to: "/cluster", label: t`Cluster`, icon: "cluster", letter: "c" },
      { to: "/cluster/timeline", label: t`Timeline`, icon: "timeline", letter: "t" },
      { to: "/scheduler", label: t`Scheduler`, icon: "scheduler", isForStaff: true },
    ],
  ],
  [
    t`Administration`,
    [
      { to: "/members", label: t`Members`, icon: "team", letter: "o" },
      { to: "/users", label: t`Users`, icon: "user", isForStaff: true },
      { to: "/quotas", label: t`Quotas`, icon: "quota", letter: "k" },
      { to: "/usage", label: t`Usage`, icon: "usage", letter: "u" },
      { to: "/webhooks", label: t`Webhooks`, icon: "webhook", isForAdmins: true },
      { to: "/platform", label: t`Platform`, icon: "platform", isForStaff: true },
      { to: "/audit", label: t`Audit`, icon: "file", isForAdmins: true },
    ],
  ],
];

/** Pages that are of no use to others are not offered; what one may see, the API decides. */
export function isFor(me: Me, { isForStaff = false, isForAdmins = false }: Place): boolean {
  return (!isForStaff || isStaff(me)) && (!isForAdmins || isAdminSomewhere(me));
}

/** The place that the address belongs to: the longest whose path it begins with. */
export function placeOf(pathname: string): Place | undefined {
  const places = GROUPS.flatMap(([, group]) => group);
  const found = places.filter(({ to }) => pathname === to || (to !== "/" && pathname.startsWith(`${to}/`)));
  return found.sort((a, b) => b.to.length - a.to.length)[0];
}
