// SPDX-License-Identifier: Apache-2.0
// The keys of the dashboard, as a list.
import { t } from "@lingui/core/macro";
import { Kbd, SimpleGrid, Text } from "@mantine/core";

import { GROUPS } from "@/app/shell/places";
import { Dialog } from "@/components/form/Dialog";

/* oxlint-disable lingui/no-unlocalized-strings -- the names of keys */
const KEYS: readonly (readonly [keys: readonly string[], does: string])[] = [
  [["Ctrl", "K"], t`Search, and run commands`],
  [["?"], t`Show this list`],
  [["/"], t`Search the jobs`],
  [["j", "↓"], t`Next row`],
  [["k", "↑"], t`Previous row`],
  [["x"], t`Select the row`],
  [["Space"], t`Show the job next to the list`],
  [["Enter"], t`Open the row`],
  [["Esc"], t`Close, go back`],
];
/* oxlint-enable lingui/no-unlocalized-strings */

export function KeyList({ onClose }: { onClose: () => void }) {
  const places = GROUPS.flatMap(([, group]) => group).flatMap(({ letter, label }) => (letter === undefined ? [] : [[["g", letter], label] as const]));
  return (
    <Dialog opened onClose={onClose} title={t`Keys`}>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xl" verticalSpacing={6} component="ul" m={0} p={0} style={{ listStyle: "none" }}>
        {[...KEYS, ...places].map(([keys, does]) => (
          <li key={does} style={{ display: "flex", justifyContent: "space-between", gap: 12 }}>
            <Text size="sm">{does}</Text>
            <span>
              {keys.map((key) => (
                <Kbd key={key} size="xs" ms={4}>
                  {key}
                </Kbd>
              ))}
            </span>
          </li>
        ))}
      </SimpleGrid>
    </Dialog>
  );
}
