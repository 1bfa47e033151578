// SPDX-License-Identifier: Apache-2.0
// What went wrong, as the API describes it, and what to do about it.
import { t } from "@lingui/core/macro";
import { Alert, Button, List, Text } from "@mantine/core";

import { Problem } from "@/api/client";
import { Icon } from "@/components/display/Icon";

interface Props {
  /** Nothing is shown when null or undefined. */
  error: unknown;
  /** Fields whose errors the form shows itself: a problem of these alone is not shown twice. */
  atFields?: readonly string[];
  onRetry?: () => void;
}

export function ProblemAlert({ error, atFields = [], onRetry }: Props) {
  if (error === null || error === undefined) return null;
  const problem = error instanceof Problem ? error : undefined;
  if (problem && problem.errors.length > 0 && problem.errors.every(({ field }) => atFields.includes(field))) return null;
  const detail = problem?.detail ?? (error instanceof Error ? error.message : t`Something went wrong.`);
  const others = problem?.errors.filter(({ message }) => !detail.includes(message)) ?? [];
  return (
    <Alert color="red" role="alert" icon={<Icon name="alert" />} title={problem?.title ?? t`Something went wrong`}>
      <Text size="sm" style={{ overflowWrap: "anywhere" }}>
        {detail}
      </Text>
      {others.length > 0 && (
        <List size="sm" mt={4}>
          {others.map(({ field, message, remedy }) => (
            <List.Item key={`${field}: ${message}`}>
              {[field && `${field}:`, message, remedy].filter(Boolean).join(" ")}
            </List.Item>
          ))}
        </List>
      )}
      {problem?.remedy && (
        <Text size="sm" mt={4} fw={500}>
          {problem.remedy}
        </Text>
      )}
      {onRetry && (
        <Button size="xs" variant="default" mt="xs" onClick={onRetry}>
          {t`Try again`}
        </Button>
      )}
    </Alert>
  );
}
