// SPDX-License-Identifier: Apache-2.0
// The strategies by which workers keep one model, as people call them; the API says what each does.
import type { StrategyName } from "@/api/types";

export const STRATEGIES: Record<StrategyName, string> = {
  auto: "Automatic",
  bsp: "Synchronous (BSP)",
  hierarchical: "Hierarchical servers",
  asp: "Asynchronous (ASP)",
  sparse_rows: "Sparse rows",
  bounded_delay: "Bounded delay",
  ssp: "Stale synchronous (SSP)",
  softsync: "n-softsync",
  k_of_n: "k of n gradients",
  downpour: "Downpour SGD",
  adag: "ADAG",
  dynsgd: "DynSGD",
  easgd: "Elastic averaging (EASGD) with servers",
  all_reduce: "All-reduce",
  model_averaging: "Model averaging (local SGD)",
  block_momentum: "Block momentum (BMUF)",
  elastic_averaging: "Elastic averaging (EASGD)",
  gossip: "Gossip with neighbours",
  random_gossip: "Random gossip (AD-PSGD)",
  push_sum: "Stochastic gradient push",
  gosgd: "GoSGD",
  sufficient_factor_broadcasting: "Sufficient factor broadcasting",
  sharded: "Sharded optimiser (ZeRO-1)",
  ensemble: "Ensemble",
  fully_sharded: "Fully sharded (FSDP2)",
  tensor: "Tensor parallel",
  hybrid: "Hybrid sharded and tensor parallel",
  pipeline: "Pipeline parallel",
  single: "One process",
  main_worker: "Main worker",
};

/** Of a name that came as free text: a preset, say, is called as it was given. */
export function strategyLabel(text: string): string {
  return text in STRATEGIES ? STRATEGIES[text as StrategyName] : text;
}
