// SPDX-License-Identifier: Apache-2.0
// Markdown that people wrote, as elements: HTML in it is shown as text, links are of the web or of this dashboard, pictures are links.
// Load it on demand: its library is larger than most pages.
import { t } from "@lingui/core/macro";
import { Anchor } from "@mantine/core";
import Library, { type MarkdownToJSX } from "markdown-to-jsx/react";
import type { ReactNode } from "react";

import classes from "./Markdown.module.css";

/** Of the web, of mail, of this dashboard, or of this page; never javascript: or data:. */
const SAFE_ADDRESS = /^(?:https?:\/\/|mailto:|\/(?![/\\])|#)/i;

interface LinkProps {
  href?: string;
  children?: ReactNode;
}

function SafeLink({ href = "", children }: LinkProps) {
  if (!SAFE_ADDRESS.test(href)) return <>{children}</>;
  const isElsewhere = !/^[/#]/.test(href);
  return (
    <Anchor href={href} inherit rel="noopener noreferrer nofollow" {...(isElsewhere && { target: "_blank" })}>
      {children}
    </Anchor>
  );
}

/** A browser that loaded it would say to its server who reads this. */
function LinkedPicture({ src, alt }: { src?: string; alt?: string }) {
  return <SafeLink href={src ?? ""}>{alt || t`Picture`}</SafeLink>;
}

/** Headings begin below those of the page, and have no ids that a text could choose. */
function heading(Level: "h3" | "h4" | "h5" | "h6") {
  return ({ children }: { children?: ReactNode }) => <Level>{children}</Level>;
}

const OPTIONS: MarkdownToJSX.Options = {
  disableParsingRawHTML: true,
  disableFrontmatter: true,
  forceBlock: true,
  forceWrapper: true,
  overrides: {
    a: SafeLink,
    img: LinkedPicture,
    h1: heading("h3"),
    h2: heading("h4"),
    h3: heading("h5"),
    h4: heading("h6"),
    h5: heading("h6"),
    h6: heading("h6"),
  },
};

export function Markdown({ text }: { text: string }) {
  return (
    <Library options={OPTIONS} className={classes.text}>
      {text}
    </Library>
  );
}
