// SPDX-License-Identifier: Apache-2.0
// Chooses a person or a service account of an organisation, by name or e-mail address. Who may not see its members, such as an
// admin of one project alone, types the user name.
import { t } from "@lingui/core/macro";
import { TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { accountChoices, choicesQuery } from "@/api/choices";
import { SearchSelect } from "@/components/form/choice/SearchSelect";

interface Props {
  organisationId: string;
  description?: string;
  /** A user name, or "". */
  value: string;
  onChange: (username: string) => void;
  error: string | undefined;
}

const LONGEST_NAME = 150;

export function AccountSelect({ organisationId, value, onChange, ...field }: Props) {
  const source = accountChoices(organisationId);
  const shared = { ...field, inputWrapperOrder: ["label", "input", "description", "error"] as ("label" | "input" | "description" | "error")[] };
  if (useQuery(choicesQuery(source)).isError) {
    return <TextInput {...shared} label={t`User name`} maxLength={LONGEST_NAME} value={value} onChange={(event) => onChange(event.currentTarget.value)} />;
  }
  return (
    <SearchSelect
      {...shared}
      label={t`Person`}
      placeholder={t`Name or e-mail address`}
      source={source}
      textOf={({ username }) => username}
      value={value}
      onChange={onChange}
    />
  );
}
