// SPDX-License-Identifier: Apache-2.0
// The list of a figure's menu, open from the start. Loaded on demand.
import { t } from "@lingui/core/macro";
import { ActionIcon, type ActionIconProps, Menu } from "@mantine/core";
import { type RefObject, useEffect, useRef, useState } from "react";

import { saveText } from "@/lib/download";
import { fileNameOf } from "@/lib/filenames";
import { savePicture } from "@/lib/picture";

interface Props {
  name: string;
  of: RefObject<Element | null>;
  csv: () => string;
  button: ActionIconProps;
}

export function FigureActions({ name, of, csv, button }: Props) {
  const [isOpen, setOpen] = useState(false);
  const target = useRef<HTMLButtonElement>(null);
  const file = fileNameOf(name);
  const save = (type: "svg" | "png") => {
    if (of.current !== null) savePicture(file, of.current, type);
  };
  useEffect(() => {
    const timer = setTimeout(() => {
      target.current?.focus(); // it stands where the one was that was pressed: focus returns to it
      setOpen(true);
    });
    return () => clearTimeout(timer);
  }, []);
  return (
    <Menu position="bottom-end" opened={isOpen} onChange={setOpen}>
      <Menu.Target>
        <ActionIcon ref={target} {...button} />
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => save("png")}>{t`Save as PNG`}</Menu.Item>
        <Menu.Item onClick={() => save("svg")}>{t`Save as SVG`}</Menu.Item>
        <Menu.Item onClick={() => saveText(`${file}.csv`, csv())}>{t`Save as CSV`}</Menu.Item>
        {window.isSecureContext && <Menu.Item onClick={() => void navigator.clipboard.writeText(window.location.href)}>{t`Copy the link`}</Menu.Item>}
      </Menu.Dropdown>
    </Menu>
  );
}
