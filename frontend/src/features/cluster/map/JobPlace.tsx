// SPDX-License-Identifier: Apache-2.0
// Where the chosen job is, and which links its workers' traffic crosses.
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Anchor, Text } from "@mantine/core";
import { Link } from "react-router";

import type { Cluster } from "@/api/types";
import { bandwidth } from "@/features/cluster/format";

import type { Place } from "./model";

const SHOWN = 4; // links of a kind

interface Props {
  job: { id: string; name: string };
  place: Place;
  cluster: Cluster;
}

export function JobPlace({ job, place, cluster }: Props) {
  const links = [
    ...(place.nodes.length > 1 ? linksOf(cluster, "nic", place.nodes) : []),
    ...(place.racks.length > 1 ? linksOf(cluster, "uplink", place.racks) : []),
  ];
  return (
    <Text size="sm" component="p" m={0}>
      <Trans>
        <Anchor component={Link} to={`/jobs/${job.id}`} size="sm" fw={600}>
          {job.name}
        </Anchor>{" "}
        holds {plural(place.nGpus, { one: "# GPU", other: "# GPUs" })} on {plural(place.nodes.length, { one: "# node", other: "# nodes" })} in {plural(place.racks.length, { one: "# rack", other: "# racks" })}.{" "}
        {links.length === 0 ? t`Its traffic stays within the node.` : t`Its traffic crosses ${links.join(", ")}.`}
      </Trans>
    </Text>
  );
}

function linksOf({ racks, links }: Cluster, kind: "nic" | "uplink", names: readonly string[]): string[] {
  const declared = new Map(
    kind === "uplink"
      ? racks.map((rack) => [rack.name, rack.uplink_bps] as const)
      : racks.flatMap(({ nodes }) => nodes.map((node) => [node.name, node.nic_bps] as const)),
  );
  const found = names.slice(0, SHOWN).map((name) => {
    const measured = links.find((link) => (link.kind === "nic") === (kind === "nic") && link.name === name)?.measured_bps;
    const speed = measured === undefined ? bandwidth(declared.get(name) ?? 0) : t`${bandwidth(measured)} measured`;
    return `${kind === "nic" ? t`the NIC of` : t`the uplink of`} ${name} (${speed})`;
  });
  return names.length > SHOWN ? [...found, t`and ${names.length - SHOWN} more`] : found;
}
