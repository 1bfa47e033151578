// SPDX-License-Identifier: Apache-2.0
// The member to whom passes what a deleted service account made. Loaded when it is asked.
import { t } from "@lingui/core/macro";

import { memberChoices } from "@/api/choices";
import { SearchSelect } from "@/components/form/choice/SearchSelect";

interface Props {
  organisationId: string;
  label: string;
  /** A user's id, or "". */
  value: string;
  onChange: (id: string) => void;
}

export function HeirSelect({ organisationId, ...field }: Props) {
  return <SearchSelect source={memberChoices(organisationId)} placeholder={t`Choose a member`} textOf={({ user }) => user.username} {...field} />;
}
