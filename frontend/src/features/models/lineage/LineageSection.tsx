// SPDX-License-Identifier: Apache-2.0
// Where a version comes from and who used it, as a graph of links: data, jobs, versions. Screen readers read it as a list.
import { plural, t } from "@lingui/core/macro";
import { Group, Text, VisuallyHidden } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";
import { Link } from "react-router";

import type { Lineage, LineageNode, ModelVersion } from "@/api/types";
import { FigureMenu } from "@/components/chart/figure/FigureMenu";
import { QueryResult } from "@/components/feedback/QueryResult";
import { Section } from "@/components/layout/Section";
import { lineageQuery } from "@/features/models/queries";

import { csvOf } from "@/lib/download";

import classes from "./LineageSection.module.css";
import { type Place, layoutOf } from "./layout";

const WIDTH = 176;
const HEIGHT = 44;
const COLUMN = WIDTH + 48;
const ROW = HEIGHT + 12;
const JOB_VERBS: Record<string, string> = { train: t`Training`, predict: t`Prediction`, evaluate: t`Evaluation` };

export function LineageSection({ version: { model, number } }: { version: ModelVersion }) {
  const lineage = useQuery(lineageQuery(model.id, number));
  return (
    <Section title={t`Lineage`}>
      <QueryResult of={lineage} label={t`Loading the lineage`}>
        {(found) => (found.edges.length === 0 ? <Unused /> : <Graph lineage={found} />)}
      </QueryResult>
    </Section>
  );
}

function Unused() {
  return (
    <Text size="sm" c="dimmed">
      {t`No job has used this version yet.`}
    </Text>
  );
}

function Graph({ lineage }: { lineage: Lineage }) {
  const { nodes, edges, version, n_left_out: nLeftOut } = lineage;
  const drawing = useRef<HTMLDivElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const { places, nColumns, nRows } = useMemo(() => layoutOf(lineage), [lineage]);
  useEffect(() => {
    // on phones the graph is wider than its frame, and this version may be far from its beginning
    const { left, top } = boxOf(places.get(version));
    const { current } = frame;
    if (current === null) return;
    current.scrollLeft = left + WIDTH / 2 - current.clientWidth / 2;
    current.scrollTop = top + HEIGHT / 2 - current.clientHeight / 2;
  }, [places, version]);
  const names = new Map(nodes.map((node) => [node.id, nameOf(node)]));
  const width = nColumns * COLUMN - (COLUMN - WIDTH);
  const height = nRows * ROW - (ROW - HEIGHT);
  const inOrder = [...nodes].sort((a, b) => (places.get(a.id)?.column ?? 0) - (places.get(b.id)?.column ?? 0));
  return (
    <>
      <div className={classes.frame} ref={frame} data-frame>
        <div className={classes.graph} style={{ width, height }} ref={drawing}>
          <svg className={classes.edges} width={width} height={height} aria-hidden="true">
            {edges.map(({ source, target }) => (
              <path key={`${source} ${target}`} className={classes.edge} d={pathOf(places.get(source), places.get(target))} />
            ))}
          </svg>
          <ul className={classes.nodes} aria-label={t`Lineage`}>
            {inOrder.map((node) => (
              <li key={node.id} className={classes.node} style={boxOf(places.get(node.id))}>
                <Link
                  to={addressOf(node)}
                  className={classes.link}
                  title={nameOf(node)}
                  aria-current={node.id === version ? "true" : undefined}
                >
                  <span className={classes.name} dir="auto">{nameOf(node)}</span>
                  <span className={classes.kind}>{kindOf(node)}</span>
                  <VisuallyHidden>{leadsTo(node, edges, names)}</VisuallyHidden>
                </Link>
              </li>
            ))}
          </ul>
        </div>
      </div>
      <Group justify="end" data-no-picture>
        <FigureMenu name={t`Lineage`} of={drawing} csv={() => csvOf([["source", "target"], ...edges.map(({ source, target }) => [names.get(source), names.get(target)])])} />
      </Group>
      {nLeftOut > 0 && (
        <Text size="xs" c="dimmed">
          {plural(nLeftOut, { one: "# older job used it, too, and is not shown.", other: "# older jobs used it, too, and are not shown." })}
        </Text>
      )}
    </>
  );
}

function boxOf(place: Place | undefined) {
  const { column, row } = place ?? { column: 0, row: 0 };
  return { left: column * COLUMN, top: row * ROW, width: WIDTH, height: HEIGHT };
}

/** From the right side of one box to the left side of the other. */
function pathOf(source: Place | undefined, target: Place | undefined): string {
  const from = boxOf(source);
  const to = boxOf(target);
  const [x1, y1, x2, y2] = [from.left + WIDTH, from.top + HEIGHT / 2, to.left, to.top + HEIGHT / 2];
  const bend = (COLUMN - WIDTH) / 2;
  return `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`;
}

function nameOf({ name, number }: LineageNode): string {
  return number === null ? name : t`${name}, version ${number}`;
}

function kindOf({ kind, job_kind, state }: LineageNode): string {
  if (kind === "dataset_version") return t`Data`;
  return kind === "model_version" ? t`Model` : `${JOB_VERBS[job_kind] ?? t`Job`}, ${state}`;
}

function leadsTo({ id }: LineageNode, edges: Lineage["edges"], names: ReadonlyMap<string, string>): string {
  const targets = edges.filter(({ source }) => source === id).map(({ target }) => names.get(target) ?? "");
  return targets.length === 0 ? "" : t`, leads to ${targets.join("; ")}`;
}

function addressOf({ id, kind, parent_id }: LineageNode): string {
  if (kind === "job") return `/jobs/${id}`;
  return kind === "dataset_version" ? `/datasets/${parent_id ?? ""}?version=${id}` : `/models/${parent_id ?? ""}?version=${id}`;
}
