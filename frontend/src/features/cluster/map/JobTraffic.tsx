// SPDX-License-Identifier: Apache-2.0
// The chosen job's traffic on the links: how many bytes a step sends over each, and at which rate, as measured.
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Text } from "@mantine/core";
import { useRef } from "react";

import type { Cluster } from "@/api/types";
import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { RelativeTime } from "@/components/display/RelativeTime";
import { bandwidth } from "@/features/cluster/format";
import { csvOf } from "@/lib/download";
import { bytes } from "@/lib/quantities";
import { shortDuration } from "@/lib/time";

import classes from "./ClusterMap.module.css";
import { shade } from "./colours";
import { type Place, loadShare } from "./model";
import { COLUMN, type DrawnLink, type DrawnNode, type Drawing, drawingOf, LEVELS, type Traffic } from "./trafficDrawing";

const HEIGHT = LEVELS.node + 64;
const FAINTEST = 0.5; // of a line that must be seen
const BOX = { width: 92, height: 22 };

interface Props {
  job: string;
  place: Place;
  cluster: Cluster;
}

export function JobTraffic({ job, place, cluster }: Props) {
  const figure = useRef<HTMLDivElement>(null);
  if (place.nodes.length < 2) return null;
  const traffic = cluster.traffic.find((one) => one.job === job);
  if (traffic === undefined) {
    return (
      <Text size="sm" c="dimmed">
        {t`Its traffic is not measured: it has reported no step in the last ten minutes, or the size of its model is not known.`}
      </Text>
    );
  }
  const rackOf = new Map(cluster.racks.flatMap(({ name, nodes }) => nodes.map((node) => [node.name, name] as const)));
  const drawing = drawingOf(traffic, place, rackOf);
  return (
    <figure style={{ margin: 0 }}>
      <div className={classes.scrolled} tabIndex={0} role="group" aria-label={t`Traffic on links`}>
        <div ref={figure} style={{ width: "fit-content" }}>
          <Picture drawing={drawing} traffic={traffic} cluster={cluster} />
        </div>
      </div>
      <Text component="figcaption" size="xs" c="dimmed">
        <Caption traffic={traffic} nHidden={drawing.nHidden} />{" "}
        <FigureMenu name={t`Traffic on links`} of={figure} csv={() => csvOfTraffic(traffic)} />
      </Text>
    </figure>
  );
}

function Caption({ traffic, nHidden }: { traffic: Traffic; nHidden: number }) {
  const most = Math.max(...traffic.links.map(({ bytes_per_step }) => bytes_per_step));
  const source = traffic.is_counted ? t`as its pods counted` : t`by the size of its model, since its pods counted nothing`;
  const how = traffic.mode === "parameter_server" ? t`between workers and parameter servers` : t`around the ring of its workers`;
  return (
    <Trans>
      A step sends up to {bytes(most)} over a link {how}, {source}; it takes {shortDuration(traffic.step_s)}, as measured{" "}
      <RelativeTime at={traffic.measured_at} />. Rates are means over a step, in the busier direction.
      {nHidden > 0 && t` Not drawn: ${plural(nHidden, { one: "# more node", other: "# more nodes" })}.`}
    </Trans>
  );
}

function Picture({ drawing, traffic, cluster }: { drawing: Drawing; traffic: Traffic; cluster: Cluster }) {
  const { width, nodes, racks, links, hasCore } = drawing;
  return (
    <svg className={classes.traffic} width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={sentenceOf(links)}>
      {links.map((link) => (
        <Line key={`${link.flow.kind} ${link.flow.name}`} link={link} cluster={cluster} />
      ))}
      {traffic.mode === "all_reduce" && <Ring nodes={nodes} />}
      {hasCore && <Box x={width / 2} y={LEVELS.core} name={t`core`} />}
      {racks.map(({ name, x }) => (
        <Box key={name} x={x} y={LEVELS.rack} name={name} />
      ))}
      {nodes.map(({ name, x, hasServers }) => (
        <g key={name}>
          <Box x={x} y={LEVELS.node} name={name} />
          {hasServers && (
            <text className={classes.faint} x={x} y={LEVELS.node + BOX.height + 8}>
              {t`servers`}
            </text>
          )}
        </g>
      ))}
      {links.map(({ flow, x1, y1, x2, y2 }) => (
        <text key={`${flow.kind} ${flow.name}`} className={classes.label} x={x1 + LABEL_AT * (x2 - x1)} y={y1 + LABEL_AT * (y2 - y1) + 4} stroke="var(--mantine-color-body)" strokeWidth={4} paintOrder="stroke">
          {bandwidth(flow.bps)}
        </text>
      ))}
    </svg>
  );
}

/** The part of a line from above, at which its label stands: further up those of two racks would lie over each other. */
const LABEL_AT = 0.72;

function csvOfTraffic({ links }: Traffic): string {
  return csvOf([["kind", "name", "bps", "bytes_per_step"], ...links.map(({ kind, name, bps, bytes_per_step }) => [kind, name, bps, bytes_per_step])]);
}

/** As thick and as strong as the part of the link's bandwidth that this job takes. */
function Line({ link: { flow, x1, y1, x2, y2 }, cluster }: { link: DrawnLink; cluster: Cluster }) {
  const load = cluster.link_loads.find(({ kind, name }) => kind === flow.kind && name === flow.name) ?? null;
  const share = loadShare(load === null ? null : { ...load, bps: flow.bps }) ?? 0;
  const all = load === null ? "" : t`; all gangs: ${bandwidth(load.bps ?? 0)} of ${bandwidth(load.capacity_bps)}`;
  return (
    <line className={classes.link} x1={x1} y1={y1} x2={x2} y2={y2} strokeWidth={2 + 10 * share} style={{ stroke: shade(Math.max(FAINTEST, share)) }}>
      <title>{`${nameOf(flow)}: ${bandwidth(flow.bps)}, ${bytes(flow.bytes_per_step)}${all}`}</title>
    </line>
  );
}

/** From each node to that of the next ranks, and from the last one to the first. */
function Ring({ nodes }: { nodes: readonly DrawnNode[] }) {
  const [first, last] = [nodes[0], nodes.at(-1)];
  if (first === undefined || last === undefined || first === last) return null;
  const y = LEVELS.node + BOX.height / 2;
  const forward = nodes.slice(1).map((node) => `M ${node.x - COLUMN + BOX.width / 2} ${LEVELS.node} H ${node.x - BOX.width / 2}`);
  const back = `M ${last.x} ${y} C ${last.x} ${y + 40}, ${first.x} ${y + 40}, ${first.x} ${y}`;
  return <path className={classes.ring} d={[...forward, back].join(" ")} />;
}

function Box({ x, y, name }: { x: number; y: number; name: string }) {
  return (
    <g>
      <rect className={classes.box} x={x - BOX.width / 2} y={y - BOX.height / 2} width={BOX.width} height={BOX.height} rx={4} />
      <text className={classes.label} x={x} y={y + 4}>
        {name.length > 14 ? `${name.slice(0, 13)}…` : name}
        <title>{name}</title>
      </text>
    </g>
  );
}

function nameOf({ kind, name }: Traffic["links"][number]): string {
  return kind === "nic" ? t`NIC of ${name}` : t`uplink of ${name}`;
}

function sentenceOf(links: readonly DrawnLink[]): string {
  return links.map(({ flow }) => `${nameOf(flow)}: ${bandwidth(flow.bps)}`).join("; ");
}
