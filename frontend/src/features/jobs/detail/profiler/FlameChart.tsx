// SPDX-License-Identifier: Apache-2.0
// The trace of a worker on a canvas: a row a depth, a lane a thread. Drag to move, Ctrl and the wheel, or keys, to zoom.
import { t } from "@lingui/core/macro";
import { Button, Group, Text, TextInput, useComputedColorScheme } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { type KeyboardEvent, type PointerEvent, useEffect, useMemo, useRef, useState } from "react";

import { useSetting } from "@/components/chart/address/useSetting";
import { FigureMenu } from "@/components/chart/figure/FigureMenu";

import { csvOfSpans, firstAfter, microseconds, moved, type Span, textOfView, type Trace, type View, viewOf, zoomed } from "./flame";
import { type Place, placesOf, ROW, spanColour } from "./flameRows";

import classes from "./Profiler.module.css";

const STEP_IN = 0.5;
const NARROWEST = 0.5; // pixels
const NARROWEST_TEXT = 24;
const SETTLED_MS = 300;

export function FlameChart({ trace, label }: { trace: Trace; label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const dragged = useRef<number | null>(null);
  const scheme = useComputedColorScheme("light");
  const [zoomText, setZoomText] = useSetting("zoom", "");
  const [view, setView] = useState<View>(() => viewOf(zoomText, trace));
  const [search, setSearch] = useSetting("operator", "");
  const [pointed, setPointed] = useState<Span | null>(null);
  const [width, setWidth] = useState(0);
  const places = useMemo(() => placesOf(trace.lanes), [trace]);
  const height = (places.at(-1)?.y ?? 0) + 2 * ROW;

  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return; // else the page scrolls
      event.preventDefault();
      const share = event.offsetX / Math.max(1, element.clientWidth);
      setView((now) => zoomed(now, event.deltaY > 0 ? 1 / STEP_IN : STEP_IN, now.begin + share * (now.end - now.begin), trace));
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => {
      observer.disconnect();
      element.removeEventListener("wheel", onWheel);
    };
  }, [trace]);

  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (element === null || context === null || context === undefined || width === 0) return;
    const ratio = window.devicePixelRatio || 1;
    element.width = width * ratio;
    element.height = height * ratio;
    context.scale(ratio, ratio);
    draw(context, places, { view, width, search: search.trim().toLowerCase(), scheme, pointed });
  }, [places, view, width, height, search, scheme, pointed]);

  // the address follows once it rests: a drag moves it many times a second
  const keep = useDebouncedCallback((now: View) => setZoomText(textOfView(now, trace)), SETTLED_MS);
  useEffect(() => {
    if (textOfView(view, trace) !== zoomText) keep(view);
  }, [view, trace, zoomText, keep]);

  const zoom = (factor: number) => setView((now) => zoomed(now, factor, (now.begin + now.end) / 2, trace));
  const move = (share: number) => setView((now) => moved(now, share * (now.end - now.begin), trace));

  function at(event: PointerEvent<HTMLCanvasElement>): Span | null {
    const { offsetX, offsetY } = event.nativeEvent;
    const moment = view.begin + (offsetX / Math.max(1, width)) * (view.end - view.begin);
    const row = places.find(({ y, row: found }) => found !== null && offsetY >= y && offsetY < y + ROW)?.row;
    const span = row?.[firstAfter(row, moment)];
    return span !== undefined && span.begin <= moment ? span : null;
  }

  function onMove(event: PointerEvent<HTMLCanvasElement>) {
    if (dragged.current === null) {
      setPointed(at(event));
      return;
    }
    const by = dragged.current - event.clientX;
    dragged.current = event.clientX;
    setView((now) => moved(now, (by / Math.max(1, width)) * (now.end - now.begin), trace));
  }

  function onKey(event: KeyboardEvent) {
    const act: Record<string, () => void> = {
      ArrowLeft: () => move(-0.25),
      ArrowRight: () => move(0.25),
      "+": () => zoom(STEP_IN),
      "-": () => zoom(1 / STEP_IN),
      Home: () => setView(trace),
    };
    const found = act[event.key];
    if (found === undefined) return;
    event.preventDefault();
    found();
  }

  return (
    <div>
      <Group gap="xs" mb={4}>
        <Button size="compact-xs" variant="default" onClick={() => zoom(STEP_IN)}>{t`Zoom in`}</Button>
        <Button size="compact-xs" variant="default" onClick={() => zoom(1 / STEP_IN)}>{t`Zoom out`}</Button>
        <Button size="compact-xs" variant="default" onClick={() => setView(trace)}>{t`All of it`}</Button>
        <TextInput size="xs" aria-label={t`Find in the trace`} placeholder={t`Find an operator`} value={search} onChange={(event) => setSearch(event.currentTarget.value)} />
        <FigureMenu name={label} of={canvas} csv={() => csvOfSpans(trace, view)} />
      </Group>
      <div className={classes.frame}>
        <canvas
          ref={canvas}
          role="img"
          aria-label={label}
          tabIndex={0}
          className={classes.canvas}
          style={{ height }}
          onKeyDown={onKey}
          onPointerDown={(event) => {
            dragged.current = event.clientX;
            event.currentTarget.setPointerCapture(event.pointerId);
          }}
          onPointerUp={() => (dragged.current = null)}
          onPointerCancel={() => (dragged.current = null)}
          onPointerMove={onMove}
          onPointerLeave={() => setPointed(null)}
          onDoubleClick={() => pointed !== null && setView(zoomed({ begin: pointed.begin, end: pointed.begin + Math.max(1, pointed.duration) }, 1.1, pointed.begin + pointed.duration / 2, trace))}
        />
      </div>
      <Text size="xs" c="dimmed" mih={18}>
        {pointed === null
          ? t`${microseconds(view.end - view.begin)} in view. Drag to move, Ctrl and the wheel to zoom, double-click to fill the view; or arrows, + and −.`
          : `${pointed.name} · ${microseconds(pointed.duration)} · ${t`after ${microseconds(Math.max(0, pointed.begin))}`}`}
      </Text>
    </div>
  );
}

interface Look {
  view: View;
  width: number;
  /** In small letters; "": everything is shown alike. */
  search: string;
  scheme: "light" | "dark";
  pointed: Span | null;
}

function draw(context: CanvasRenderingContext2D, places: readonly Place[], { view, width, search, scheme, pointed }: Look) {
  const scale = width / (view.end - view.begin);
  const ink = scheme === "light" ? "#495057" : "#c9c9c9";
  context.font = "11px sans-serif";
  context.textBaseline = "middle";
  for (const { y, label, row } of places) {
    if (row === null) {
      context.fillStyle = ink;
      context.fillText(label, 2, y + ROW / 2);
      continue;
    }
    let drawn = -1; // the pixel up to which this row is filled
    for (let index = firstAfter(row, view.begin); index < row.length; index += 1) {
      const span = row[index];
      if (span === undefined || span.begin >= view.end) break;
      const left = Math.max(0, (span.begin - view.begin) * scale);
      const right = Math.min(width, (span.begin + span.duration - view.begin) * scale);
      if (right - left < NARROWEST && left < drawn) continue;
      const size = Math.max(NARROWEST, right - left - (right - left > 3 ? 1 : 0));
      drawn = left + size;
      context.globalAlpha = search !== "" && !span.name.toLowerCase().includes(search) ? 0.15 : 1;
      context.fillStyle = spanColour(span.name, scheme);
      context.fillRect(left, y, size, ROW - 1);
      if (span === pointed) {
        context.strokeStyle = ink;
        context.strokeRect(left + 0.5, y + 0.5, size - 1, ROW - 2);
      }
      if (size > NARROWEST_TEXT) write(context, span.name, left + 3, y + ROW / 2, size - 6, scheme);
    }
    context.globalAlpha = 1;
  }
}

function write(context: CanvasRenderingContext2D, text: string, x: number, y: number, room: number, scheme: "light" | "dark") {
  const most = Math.floor(room / 6); // letters of 11 pixels are some 6 wide
  context.fillStyle = scheme === "light" ? "#ffffff" : "#1a1a1a";
  context.fillText(text.length <= most ? text : `${text.slice(0, Math.max(0, most - 1))}…`, x, y, room);
}
