// SPDX-License-Identifier: Apache-2.0
// A file of MLHub to take away.
import { Button } from "@mantine/core";

import { Icon } from "@/components/display/Icon";

interface Props {
  href: string;
  /** The one most people want. */
  isMain?: boolean;
  children: string;
}

export function DownloadButton({ href, isMain = false, children }: Props) {
  return (
    <Button
      component="a"
      href={href}
      download
      variant={isMain ? "filled" : "default"}
      size="xs"
      leftSection={<Icon name="download" size={14} />}
    >
      {children}
    </Button>
  );
}
