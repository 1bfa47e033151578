// SPDX-License-Identifier: Apache-2.0
// An organisation with its teams and projects: what each is guaranteed, uses, borrows and lends; admins change it here.
import { t } from "@lingui/core/macro";
import { Box, Button, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Suspense, useState } from "react";

import type { QuotaOwner } from "@/api/types";
import { FigureCard } from "@/components/chart/figure/FigureCard";
import { BudgetBars } from "@/components/display/quota/BudgetBars";
import { OvercommittedAlert } from "@/components/display/quota/OvercommittedAlert";
import { QueryResult } from "@/components/feedback/QueryResult";
import { ownerKind } from "@/domain/scheduling/ownerKinds";
import { Boosts } from "@/features/quotas/boosts/Boosts";
import { csvOfOwners, Legend, OwnerBar } from "@/features/quotas/OwnerBar";
import { AskForMore } from "@/features/quotas/requests/AskForMore";
import { Requests } from "@/features/quotas/requests/Requests";
import { UserQuotas } from "@/features/quotas/users/UserQuotas";
import { quotaTreeQuery } from "@/features/quotas/queries";
import classes from "@/features/quotas/quotas.module.css";
import { lazyComponent } from "@/lib/chunk";

// few nodes have limits of types, jobs or storage, and who looks at quotas seldom changes one
const TypeBooks = lazyComponent(async () => (await import("@/features/quotas/nodes/TypeBooks")).TypeBooks);
const NodeLimits = lazyComponent(async () => (await import("@/features/quotas/nodes/NodeLimits")).NodeLimits);
const OwnerForm = lazyComponent(async () => (await import("@/features/quotas/OwnerForm")).OwnerForm);

interface Props {
  organisationId: string;
  /** Staff of the platform, who set the organisation's own guarantee. */
  isStaff: boolean;
}

export function QuotaTree({ organisationId, isStaff }: Props) {
  const tree = useQuery(quotaTreeQuery(organisationId));
  const [edited, setEdited] = useState<string | null>(null);
  const mayEdit = (kind: string, id: string) =>
    kind === "organisation" ? isStaff : (tree.data?.may_edit ?? false) || (tree.data?.editable?.includes(id) ?? false);
  return (
    <>
      <Requests organisationId={organisationId} mayEdit={mayEdit} />
      <FigureCard
        title={t`Guarantees, borrowing and lending`}
        of={tree.data?.owners[0]?.name ?? ""}
        csv={() => csvOfOwners(tree.data?.owners ?? [])}
        isEmpty={(tree.data?.owners.length ?? 0) === 0}
      >
        <QueryResult of={tree}>
          {({ owners }) => (
            <Stack gap="md">
              <OvercommittedAlert found={owners.flatMap(({ overcommitted }) => overcommitted)} />
              {owners.length === 0 ? <Text size="sm">{t`There is none that you may see.`}</Text> : <Legend />}
              {inLevels(owners).map(({ owner, level }) => (
                <Box key={owner.id} className={classes.owner} style={{ "--level": level }}>
                  <Group justify="space-between" wrap="nowrap" gap="xs">
                    <Text size="sm" fw={500} style={{ overflowWrap: "anywhere" }}>
                      {owner.name}{" "}
                      <Text span size="xs" c="dimmed">
                        {ownerKind(owner.kind)}
                      </Text>
                    </Text>
                    {mayEdit(owner.kind, owner.id) && (
                      <Button
                        size="compact-xs"
                        variant="default"
                        data-no-picture
                        aria-label={t`Change ${owner.name}`}
                        aria-expanded={edited === owner.id}
                        onClick={() => setEdited(edited === owner.id ? null : owner.id)}
                      >
                        {t`Change`}
                      </Button>
                    )}
                  </Group>
                  <OwnerBar owner={owner} most={widest(owners)} />
                  {Object.keys(owner.books_by_type).length > 0 && (
                    <Suspense fallback={null}>
                      <TypeBooks owner={owner} />
                    </Suspense>
                  )}
                  {hasLimits(owner) && (
                    <Suspense fallback={null}>
                      <NodeLimits owner={owner} />
                    </Suspense>
                  )}
                  {owner.budgets.length > 0 && <BudgetBars name={owner.name} budgets={owner.budgets} />}
                  <div className={classes.further} data-no-picture>
                    <Boosts
                      owner={owner}
                      organisationId={organisationId}
                      mayEdit={mayEdit(owner.kind, owner.id)}
                    />
                    <UserQuotas owner={owner} organisationId={organisationId} />
                    {!mayEdit(owner.kind, owner.id) && <AskForMore owner={owner} />}
                  </div>
                  {edited === owner.id && (
                    <OwnerForm owner={owner} organisationId={organisationId} onDone={() => setEdited(null)} />
                  )}
                </Box>
              ))}
            </Stack>
          )}
        </QueryResult>
      </FigureCard>
    </>
  );
}

function hasLimits(owner: QuotaOwner): boolean {
  const ofPart = owner.kind !== "organisation" ? [owner.max_running_jobs, owner.max_storage_bytes] : [];
  const limits = [...ofPart, owner.max_waiting_jobs, owner.max_cpus, owner.max_memory_bytes];
  return limits.some((limit) => limit !== null) || Object.keys(owner.gpus_by_type).length > 0;
}

/** How deep each is in the tree; owners: parents before children. */
function inLevels(owners: QuotaOwner[]): { owner: QuotaOwner; level: number }[] {
  const levels = new Map<string, number>();
  return owners.map((owner) => {
    const level = owner.above === null ? 0 : (levels.get(owner.above) ?? 0) + 1;
    levels.set(owner.id, level);
    return { owner, level };
  });
}

/** All bars have one scale: the most GPUs that any of them has to show. */
function widest(owners: QuotaOwner[]): number {
  return Math.max(1, ...owners.map((o) => Math.max(o.guaranteed, o.used - o.borrowed + o.lent) + o.borrowed + o.queued_gpus));
}
