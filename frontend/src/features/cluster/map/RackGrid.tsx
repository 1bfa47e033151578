// SPDX-License-Identifier: Apache-2.0
// The squares of the map. To a screen reader each node is one sentence; the cards below have the links.
import { t } from "@lingui/core/macro";
import { Text } from "@mantine/core";

import classes from "./ClusterMap.module.css";
import { type Palette, fillOf, isKnown, loadText, shade, textOf } from "./colours";
import { type MapGpu, type MapNode, type MapRack, loadShare } from "./model";

interface Props {
  racks: readonly MapRack[];
  palette: Palette;
  /** The job that stands out; "" = none. */
  chosen: string;
  onChoose: (job: string) => void;
}

export function RackGrid({ racks, palette, chosen, onChoose }: Props) {
  return (
    <div className={classes.racks}>
      {racks.map((rack) => (
        <div key={rack.name}>
          <Text size="xs" fw={600}>
            {rack.name}
            {palette.colouring === "load" && <Uplink rack={rack} />}
          </Text>
          <ul className={classes.nodes} aria-label={t`Map of ${rack.name}`}>
            {rack.nodes.map((node) => (
              <li key={node.name} className={classes.node} aria-label={sentenceOf(node, palette)}>
                <span className={classes.name} title={`${node.name} ${node.gpuType}`} aria-hidden>
                  {node.name}
                </span>
                <span className={classes.gpus} aria-hidden>
                  {node.gpus.map((gpu) => (
                    <Square key={gpu.index} gpu={gpu} node={node} palette={palette} chosen={chosen} onChoose={onChoose} />
                  ))}
                </span>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </div>
  );
}

function Uplink({ rack: { load } }: { rack: MapRack }) {
  const share = loadShare(load);
  return (
    <Text span size="xs" c="dimmed" ml="xs">
      {share !== null && <span className={classes.swatch} style={{ background: shade(share) }} aria-hidden />}
      {t`uplink: ${loadText(load)}`}
    </Text>
  );
}

interface SquareProps extends Omit<Props, "racks"> {
  gpu: MapGpu;
  node: MapNode;
}

function Square({ gpu, node, palette, chosen, onChoose }: SquareProps) {
  const isChosen = chosen !== "" && gpu.holders.some(({ job }) => job === chosen);
  const job = gpu.holders.find((holder) => holder.job !== null)?.job ?? "";
  return (
    <span
      className={classes.gpu}
      style={fillOf(gpu, node, palette)}
      title={`${node.name}, ${textOf(gpu, node, palette.colouring)}`}
      data-held={gpu.holders.length > 0 || undefined}
      data-unknown={(gpu.holders.length > 0 && !isKnown(gpu, node, palette.colouring)) || undefined}
      data-shared={gpu.holders.length > 1 || undefined}
      data-closed={(gpu.holders.length === 0 && !gpu.isUsable) || undefined}
      data-predicted={gpu.predicted || undefined}
      data-chosen={isChosen || undefined}
      data-faded={(chosen !== "" && !isChosen) || undefined}
      onClick={() => onChoose(isChosen ? "" : job)}
    />
  );
}

function sentenceOf(node: MapNode, { colouring }: Palette): string {
  return `${node.name}: ${node.gpus.map((gpu) => textOf(gpu, node, colouring)).join("; ")}`;
}
