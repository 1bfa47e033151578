// SPDX-License-Identifier: Apache-2.0
// The search of a whole list, above it. "/" leads to it.
import { t } from "@lingui/core/macro";
import { TextInput } from "@mantine/core";
import { useDebouncedCallback, useHotkeys } from "@mantine/hooks";
import { useRef, useState } from "react";

import { Icon } from "@/components/display/Icon";

const SETTLED_MS = 300;

interface Props {
  /** What is searched. */
  placeholder: string;
  value: string;
  onChange: (text: string) => void;
}

/** Asks once nothing has been typed for a moment. */
export function SearchInput({ placeholder, value, onChange }: Props) {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(value);
  const settle = useDebouncedCallback(onChange, SETTLED_MS);
  useHotkeys([["/", () => input.current?.focus()]]);
  return (
    <TextInput
      ref={input}
      size="xs"
      type="search"
      aria-label={t`Search`}
      leftSection={<Icon name="search" size={14} />}
      placeholder={placeholder}
      w={{ base: "100%", sm: 260 }}
      value={text}
      maxLength={200}
      onChange={(event) => {
        setText(event.currentTarget.value);
        settle(event.currentTarget.value.trim());
      }}
    />
  );
}
