// SPDX-License-Identifier: Apache-2.0
// A filter by a name: typed or chosen, it counts when Enter is pressed or the input is left.
import { t } from "@lingui/core/macro";
import { Autocomplete } from "@mantine/core";
import { useState } from "react";

interface Props {
  label: string;
  value: string;
  options: string[];
  onChange: (text: string) => void;
}

export function NameFilter({ label, value, options, onChange }: Props) {
  const [text, setText] = useState({ of: value, typed: value });
  const shown = text.of === value ? text.typed : value;
  const settle = (chosen: string) => {
    if (chosen.trim() !== value) onChange(chosen.trim());
  };
  return (
    <Autocomplete
      size="xs"
      w={120}
      aria-label={label}
      placeholder={t`Any ${label.toLowerCase()}`}
      data={[...new Set(options)]}
      value={shown}
      onChange={(typed) => setText({ of: value, typed })}
      onOptionSubmit={settle}
      onBlur={() => settle(shown)}
      onKeyDown={(event) => {
        if (event.key === "Enter") settle(event.currentTarget.value);
      }}
      clearable
      onClear={() => settle("")}
    />
  );
}
