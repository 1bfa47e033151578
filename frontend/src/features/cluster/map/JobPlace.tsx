// SPDX-License-Identifier: Apache-2.0
// Where the chosen job is, and which links its workers' traffic crosses.
import { Anchor, Text } from "@mantine/core";
import { Link } from "react-router";

import type { Cluster } from "@/api/types";
import { bandwidth } from "@/features/cluster/format";
import { count } from "@/lib/quantities";

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
      <Anchor component={Link} to={`/jobs/${job.id}`} size="sm" fw={600}>
        {job.name}
      </Anchor>{" "}
      holds {count(place.nGpus, "GPU")} on {count(place.nodes.length, "node")} in {count(place.racks.length, "rack")}.{" "}
      {links.length === 0 ? "Its traffic stays within the node." : `Its traffic crosses ${links.join(", ")}.`}
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
    const speed = measured === undefined ? bandwidth(declared.get(name) ?? 0) : `${bandwidth(measured)} measured`;
    return `${kind === "nic" ? "the NIC of" : "the uplink of"} ${name} (${speed})`;
  });
  return names.length > SHOWN ? [...found, `and ${names.length - SHOWN} more`] : found;
}
