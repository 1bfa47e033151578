// SPDX-License-Identifier: Apache-2.0
// The user to whom passes what a deleted one made. Loaded when it is asked.
import { t } from "@lingui/core/macro";

import { userChoices } from "@/api/choices";
import { accountText } from "@/domain/account";
import { SearchSelect } from "@/components/form/choice/SearchSelect";

interface Props {
  /** Who is deleted. */
  userId: string;
  label: string;
  /** A user's id, or "". */
  value: string;
  onChange: (id: string) => void;
}

export function HeirSelect({ userId, ...field }: Props) {
  return <SearchSelect source={userChoices} placeholder={t`Choose a user`} textOf={accountText} isOffered={({ id }) => id !== userId} {...field} />;
}
