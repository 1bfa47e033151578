// SPDX-License-Identifier: Apache-2.0
// The button and dialogue that upload a new model.
import { t } from "@lingui/core/macro";

import { UploadDialog } from "@/components/form/upload/UploadDialog";
import { lazyComponent } from "@/lib/chunk";

const NewModelForm = lazyComponent(async () => (await import("./NewModelForm")).NewModelForm);

export function NewModel() {
  return (
    <UploadDialog label={t`Upload a model`} isMain>
      {() => <NewModelForm />}
    </UploadDialog>
  );
}
