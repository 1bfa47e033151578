// SPDX-License-Identifier: Apache-2.0
// Tags as people write them on jobs and model versions; the bounds are mlhub/core/tags.py's.
import { t } from "@lingui/core/macro";
import { TagsInput } from "@mantine/core";

const MAX_TAGS = 20;
const MAX_TAG_LENGTH = 50;

interface Props {
  value: string[];
  onChange: (tags: string[]) => void;
  /** Tags that exist, to choose from. */
  known?: string[];
}

export function TagsField({ value, onChange, known = [] }: Props) {
  return (
    <TagsInput
      label={t`Tags`}
      placeholder={value.length === 0 ? t`Type a tag, then Enter` : ""}
      data={known}
      maxTags={MAX_TAGS}
      value={value}
      onChange={(found) => onChange(found.map((tag) => tag.trim().slice(0, MAX_TAG_LENGTH)))}
      clearable={false}
    />
  );
}
