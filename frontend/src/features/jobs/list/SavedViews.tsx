// SPDX-License-Identifier: Apache-2.0
// Views of the list of jobs: the address by a name, kept in this browser. The address itself may be sent to others.
import { t } from "@lingui/core/macro";
import { Menu } from "@mantine/core";
import { useSearchParams } from "react-router";

import { KeptByName } from "@/components/form/KeptByName";

interface View {
  name: string;
  search: string;
}

export function SavedViews() {
  const [search, setSearch] = useSearchParams();
  return (
    <KeptByName<View>
      storageKey="mlhub-job-views"
      label={t`Views`}
      nameLabel={t`Name of the view`}
      saveText={t`Save view`}
      forgetText={(name) => t`Forget the view ${name}`}
      made={(name) => ({ name, search: search.toString() })}
      onUse={(view) => setSearch(view.search)}
      first={() => <Menu.Item onClick={() => setSearch("")}>{t`All jobs`}</Menu.Item>}
    />
  );
}
