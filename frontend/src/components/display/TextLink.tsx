// SPDX-License-Identifier: Apache-2.0
// A link to another page of the dashboard, in the size of the text around it. A name in it is read in its own direction.
import { Anchor, type AnchorProps } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "react-router";

interface Props extends AnchorProps {
  to: string;
  "aria-current"?: "true" | undefined;
  children: ReactNode;
}

export function TextLink(props: Props) {
  return <Anchor component={Link} inherit dir="auto" {...props} />;
}
