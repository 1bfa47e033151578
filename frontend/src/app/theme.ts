// SPDX-License-Identifier: Apache-2.0
// The theme: one accent, dense tables, and contrast that meets WCAG AA.
import {
  type AlertProps,
  type BadgeProps,
  type ButtonProps,
  createTheme,
  type CSSVariablesResolver,
  darken,
  type ModalProps,
  type PaperProps,
  type TableProps,
} from "@mantine/core";

export const theme = createTheme({
  primaryColor: "indigo",
  primaryShade: { light: 7, dark: 7 },
  defaultRadius: "md",
  cursorType: "pointer",
  respectReducedMotion: true,
  fontFamily: 'Inter, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  // 14 px base, 13 in tables, 12 for captions: people keep this open all day.
  fontSizes: { xs: "0.75rem", sm: "0.8125rem", md: "0.875rem", lg: "1rem", xl: "1.25rem" },
  spacing: { xs: "8px", sm: "12px", md: "16px", lg: "20px", xl: "24px" },
  headings: { fontWeight: "600", sizes: { h1: { fontSize: "1.375rem" }, h2: { fontSize: "1.25rem" }, h4: { fontSize: "1rem" }, h5: { fontSize: "0.875rem" } } },
  // By name, so that a component is loaded with the first page that shows it and not with the shell.
  components: {
    Alert: { defaultProps: { variant: "light" } satisfies Partial<AlertProps> },
    Badge: { defaultProps: { variant: "light", radius: "sm", tt: "none", fw: 600 } satisfies Partial<BadgeProps> },
    Button: { defaultProps: { size: "xs" } satisfies Partial<ButtonProps> },
    Modal: { defaultProps: { centered: true } satisfies Partial<ModalProps>, styles: { title: { fontWeight: 600 } } },
    Paper: { defaultProps: { radius: "md" } satisfies Partial<PaperProps> },
    Table: { defaultProps: { verticalSpacing: 6, fz: "sm", highlightOnHover: true } satisfies Partial<TableProps> },
  },
});

/** Text of light badges and alerts in colours whose darkest shade is too light on their background. */
const TEXT_DARKENED: Record<string, number> = { yellow: 0.45, orange: 0.25, teal: 0.15 };

/** Where Mantine's own colours are too faint: WCAG AA asks for 4.5 to 1 (theme.test.ts computes it). */
export const cssVariables: CSSVariablesResolver = ({ colors }) => ({
  variables: {},
  light: {
    "--ground": "var(--mantine-color-gray-0)", // of the frame around the page
    "--mantine-color-dimmed": "var(--mantine-color-gray-7)",
    "--mantine-color-error": "var(--mantine-color-red-9)",
    "--mantine-color-red-filled": "var(--mantine-color-red-9)", // under white words
    "--mantine-color-red-filled-hover": "var(--mantine-color-red-9)",
    "--mantine-color-red-text": "var(--mantine-color-red-9)",
    ...Object.fromEntries(
      Object.entries(TEXT_DARKENED).map(([color, amount]) => [
        `--mantine-color-${color}-light-color`,
        darken(colors[color]?.[9] ?? "#000000", amount),
      ]),
    ),
  },
  dark: {
    "--ground": "var(--mantine-color-dark-8)",
    "--mantine-color-dimmed": "var(--mantine-color-dark-1)",
    "--mantine-color-error": "var(--mantine-color-red-4)",
    "--mantine-color-red-filled": "var(--mantine-color-red-9)",
    "--mantine-color-red-filled-hover": "var(--mantine-color-red-9)",
    "--mantine-color-anchor": "var(--mantine-color-indigo-3)", // also on rows that are chosen or under the pointer
  },
});
