// SPDX-License-Identifier: Apache-2.0
// The settings that hold: what people can do here, how they sign in, what is limited, and how long what is kept.
import { plural, t } from "@lingui/core/macro";
import { Code, SegmentedControl, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";

import { api, unwrap } from "@/api/client";
import type { PlatformSetting } from "@/api/types";
import { QueryResult } from "@/components/feedback/QueryResult";
import { Section } from "@/components/layout/Section";
import { ScrollTable } from "@/components/table/ScrollTable";
import { bytes, number } from "@/lib/quantities";
import { duration } from "@/lib/time";

import classes from "./Announcements.module.css";
import { SETTINGS } from "./settingWords";

type Group = PlatformSetting["group"];

const GROUPS: readonly { value: Group; label: string }[] = [
  { value: "features", label: t`Features` },
  { value: "sign_in", label: t`Sign-in` },
  { value: "limits", label: t`Limits` },
  { value: "retention", label: t`Retention` },
];

export function Settings() {
  const [address, setAddress] = useSearchParams();
  const group = GROUPS.find(({ value }) => value === address.get("settings"))?.value ?? "features";
  const settings = useQuery({ queryKey: ["platform", "settings"], queryFn: () => unwrap(api.GET("/api/v1/platform/settings")) });

  function choose(value: string) {
    setAddress(
      (known) => {
        known.set("settings", value);
        return known;
      },
      { replace: true },
    );
  }

  return (
    <Section title={t`Settings`}>
      <Text size="sm" c="dimmed">
        {t`What holds since the platform was started. Each is set by a variable of the environment, and read at the next start.`}
      </Text>
      <SegmentedControl aria-label={t`Settings of`} value={group} onChange={choose} data={[...GROUPS]} style={{ alignSelf: "start" }} />
      <QueryResult of={settings}>
        {({ settings: all }) => (
          <ScrollTable label={t`Settings`} head={[t`Setting`, t`Value`, t`Variable`]} minWidth={640}>
            {all
              .filter((one) => one.group === group)
              .map((one) => (
                <Table.Tr key={one.name}>
                  <Table.Td className={classes.text}>{SETTINGS[one.name] ?? one.name}</Table.Td>
                  <Table.Td className={classes.name}>{valueText(one)}</Table.Td>
                  <Table.Td>
                    <Code>{one.name}</Code>
                  </Table.Td>
                </Table.Tr>
              ))}
          </ScrollTable>
        )}
      </QueryResult>
    </Section>
  );
}

function valueText({ kind, value }: PlatformSetting): string {
  switch (kind) {
    case "switch":
      return value === "on" ? t`on` : t`off`;
    case "bytes":
      return bytes(Number(value));
    case "seconds":
      return duration(Number(value));
    case "days":
      return Number(value) === 0 ? t`for good` : plural(Number(value), { one: "# day", other: "# days" });
    case "number":
      return number(Number(value));
    default:
      return value === "" ? t`not set` : value;
  }
}
