// SPDX-License-Identifier: Apache-2.0
// Which jobs run on a node, where something is about to happen to them.
import { plural, t } from "@lingui/core/macro";
import { List, Text } from "@mantine/core";

import type { Node } from "@/api/types";
import { TextLink } from "@/components/display/TextLink";
import { jobsOn } from "@/domain/scheduling/capacity";

export function JobsOnNode({ node }: { node: Node }) {
  const { named, nOthers } = jobsOn(node);
  if (named.length === 0 && nOthers === 0) return <Text size="sm">{t`No job runs there.`}</Text>;
  return (
    <div>
      <Text size="sm" fw={500} id={`jobs-on-${node.name}`}>
        {t`Jobs that run there`}
      </Text>
      <List size="sm" aria-labelledby={`jobs-on-${node.name}`}>
        {named.map(({ id, name }) => (
          <List.Item key={id}>
            <TextLink to={`/jobs/${id}`}>{name}</TextLink>
          </List.Item>
        ))}
        {nOthers > 0 && <List.Item>{t`Jobs of other organisations, in ${plural(nOthers, { one: "# place", other: "# places" })}`}</List.Item>}
      </List>
    </div>
  );
}
