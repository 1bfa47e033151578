// SPDX-License-Identifier: Apache-2.0
// What a page for administrators of the platform shows to others who have its address: where they find what concerns them.
import { t } from "@lingui/core/macro";
import { Button } from "@mantine/core";
import { Link } from "react-router";

import { EmptyState } from "@/components/feedback/EmptyState";

interface Props {
  /** What others have instead. */
  text: string;
  to: string;
  /** The name of the page that `to` is the address of. */
  page: string;
}

export function AdministratorsOnly({ text, to, page }: Props) {
  return (
    <EmptyState
      title={t`This page is for administrators`}
      text={text}
      action={
        <Button component={Link} to={to}>
          {page}
        </Button>
      }
    />
  );
}
