// SPDX-License-Identifier: Apache-2.0
// Why inspection refused an upload, and the way to mend it.
import { t } from "@lingui/core/macro";
import { Alert, Text } from "@mantine/core";

import type { InputError } from "@/api/types";
import { Icon } from "@/components/display/Icon";
import { remedyOnPage } from "@/domain/remedies";

interface Props {
  error: InputError;
  title?: string;
}

export function RejectionAlert({ error, title = t`This upload was refused` }: Props) {
  return (
    <Alert color="red" role="alert" icon={<Icon name="alert" />} title={title}>
      <Text size="sm" style={{ overflowWrap: "anywhere", whiteSpace: "pre-line" }}>
        {error.message}
      </Text>
      {error.remedy && (
        <Text size="sm" mt={4} fw={500} style={{ whiteSpace: "pre-line" }}>
          {t`What to do: ${remedyOnPage(error.remedy)}`}
        </Text>
      )}
    </Alert>
  );
}
