// SPDX-License-Identifier: Apache-2.0
// The dashboard's few icons, drawn with the text's colour; decoration only, never the sole label.

const PATHS = {
  home: "M4 11l8-7 8 7v9H4z",
  jobs: "M4 17l5-6 4 3 7-8M4 21h16",
  dataset: "M4 6c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3zm0 0v12c0 1.7 3.6 3 8 3s8-1.3 8-3V6M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3",
  model: "M12 3l8 4.5v9L12 21l-8-4.5v-9L12 3zm0 9l8-4.5M12 12v9M12 12L4 7.5",
  cluster: "M4 4h16v6H4V4zm0 10h16v6H4v-6zM8 7h.01M8 17h.01",
  queue: "M4 6h10M4 12h10M4 18h6M18 5v13m0 0l-3-3m3 3l3-3",
  scheduler: "M12 3v3m0 12v3M3 12h3m12 0h3M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8z",
  study: "M5 3v9m0 4v5M3 14h4M12 3v3m0 4v11M10 8h4M19 3v11m0 4v3M17 16h4",
  run: "M9 3h6M10 3v6l-5 9a2 2 0 0 0 1.7 3h10.6a2 2 0 0 0 1.7-3l-5-9V3M8 15h8",
  team: "M9 4a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7zM2 20c0-3.5 3-5.5 7-5.5s7 2 7 5.5M16 4.3a3.5 3.5 0 0 1 0 6.4M18 15c2.5.7 4 2.5 4 5",
  account: "M3 5h18v14H3zM8.5 9a1.8 1.8 0 1 1 0 3.6 1.8 1.8 0 0 1 0-3.6zM5.5 16c.4-1.4 1.6-2 3-2s2.6.6 3 2M15 10h3m-3 4h3",
  quota: "M12 21a9 9 0 1 1 9-9M12 12l5-5M21 15v6M18 18h6",
  usage: "M4 21h16M6 21v-7m6 7V4m6 17v-11",
  token: "M15 7a4 4 0 1 1-3.6 5.7L9 15H7v2H5v2H2v-3l6.3-6.3A4 4 0 0 1 15 7z",
  alert: "M12 9v4m0 4h.01M10.3 4l-8 14a2 2 0 0 0 1.7 3h16a2 2 0 0 0 1.7-3l-8-14a2 2 0 0 0-3.4 0z",
  announcement: "M4 10v4h3l9 5V5l-9 5H4zM19 9a4 4 0 0 1 0 6M8 14v5h3v-3.5",
  platform: "M4 5h16v10H4zM9 20h6m-3-5v5M8 10h2l1.5-2.5 2 5L15 10h1",
  upload: "M12 16V4m0 0L7 9m5-5l5 5M4 20h16",
  file: "M6 3h8l4 4v14H6V3zm8 0v4h4",
  sun: "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM12 2v2m0 16v2M4.9 4.9l1.4 1.4m11.4 11.4l1.4 1.4M2 12h2m16 0h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4",
  webhook: "M4 12h11m0 0l-4-4m4 4l-4 4M20 5v14",
  environment: "M4 8l8-4 8 4v8l-8 4-8-4V8zm0 0l8 4 8-4M12 12v8M8 6l8 4",
  user: "M12 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM4 21c0-4 3.6-6 8-6s8 2 8 6",
  plus: "M12 5v14M5 12h14",
  download: "M12 4v12m0 0l-5-5m5 5l5-5M4 20h16",
  globe: "M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18zM3 12h18M12 3c4 5 4 13 0 18M12 3c-4 5-4 13 0 18",
  back: "M15 5l-7 7 7 7",
  timeline: "M3 5h9v4H3zM8 10h9v4H8zM13 15h8v4h-8z",
  search: "M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14zM16 16l5 5",
  fold: "M4 4h16v16H4zM9 4v16M16 9l-3 3 3 3",
  unfold: "M4 4h16v16H4zM9 4v16M13 9l3 3-3 3",
  mark: "M3 19V6l9 8 9-8v13M12 14v6",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  close: "M6 6l12 12M18 6L6 18",
  expand: "M14 4h6v6M20 4l-8 8M10 20H4v-6M4 20l8-8",
  pin: "M9 3h6M10 3v6l-4 5h12l-4-5V3M12 14v7",
  chevron: "M9 6l6 6-6 6",
  grip: "M9 6h.01M15 6h.01M9 12h.01M15 12h.01M9 18h.01M15 18h.01",
} as const;

export type IconName = keyof typeof PATHS;

/** They point along the line: the other way where that is read from right to left. */
const MIRRORED = new Set<IconName>(["back", "chevron", "fold", "unfold"]);

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.8}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden
      data-mirrored={MIRRORED.has(name) || undefined}
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
