// SPDX-License-Identifier: Apache-2.0
// The strategies by which workers keep one model, as people call them; the API says what each does.
import { t } from "@lingui/core/macro";

import type { StrategyName } from "@/api/types";

export const STRATEGIES: Record<StrategyName, string> = {
  auto: t`Automatic`,
  bsp: t`Synchronous (BSP)`,
  hierarchical: t`Hierarchical servers`,
  asp: t`Asynchronous (ASP)`,
  sparse_rows: t`Sparse rows`,
  bounded_delay: t`Bounded delay`,
  ssp: t`Stale synchronous (SSP)`,
  softsync: "n-softsync",
  k_of_n: t`k of n gradients`,
  downpour: t`Downpour SGD`,
  adag: "ADAG",
  dynsgd: "DynSGD",
  easgd: t`Elastic averaging (EASGD) with servers`,
  all_reduce: t`All-reduce`,
  model_averaging: t`Model averaging (local SGD)`,
  block_momentum: t`Block momentum (BMUF)`,
  elastic_averaging: t`Elastic averaging (EASGD)`,
  gossip: t`Gossip with neighbours`,
  random_gossip: t`Random gossip (AD-PSGD)`,
  push_sum: t`Stochastic gradient push`,
  gosgd: "GoSGD",
  sufficient_factor_broadcasting: t`Sufficient factor broadcasting`,
  sharded: t`Sharded optimiser (ZeRO-1)`,
  ensemble: t`Ensemble`,
  fully_sharded: t`Fully sharded (FSDP2)`,
  tensor: t`Tensor parallel`,
  hybrid: t`Hybrid sharded and tensor parallel`,
  pipeline: t`Pipeline parallel`,
  single: t`One process`,
  main_worker: t`Main worker`,
};

/** Of a name that came as free text: a preset, say, is called as it was given. */
export function strategyLabel(text: string): string {
  return text in STRATEGIES ? STRATEGIES[text as StrategyName] : text;
}
