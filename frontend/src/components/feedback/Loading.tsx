// SPDX-License-Identifier: Apache-2.0
// Shown while something is on its way.
import { t } from "@lingui/core/macro";
import { Center, Loader, VisuallyHidden } from "@mantine/core";

export function Loading({ label = t`Loading` }: { label?: string }) {
  return (
    <Center py="xl" role="status">
      <Loader size="sm" />
      <VisuallyHidden>{label}…</VisuallyHidden>
    </Center>
  );
}
