// SPDX-License-Identifier: Apache-2.0
// To which size pictures are scaled. Loaded when pictures are chosen.
import { t } from "@lingui/core/macro";
import { NumberInput } from "@mantine/core";

import type { Sending } from "@/components/form/upload/UploadForm";

interface Props extends Sending {
  value: number | string;
  onChange: (value: number | string) => void;
}

export function ImageSizeField({ value, onChange, isDisabled, problem }: Props) {
  return (
    <NumberInput
      label={t`Image size`}
      description={t`Pixels of a side, 8 to 1,024; images are then decoded whenever they are read`}
      placeholder={t`At most 128, decoded once`}
      min={8}
      max={1024}
      allowDecimal={false}
      value={value}
      disabled={isDisabled}
      onChange={onChange}
      error={problem?.of("image_size")}
    />
  );
}
