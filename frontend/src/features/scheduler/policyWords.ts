// SPDX-License-Identifier: Apache-2.0
// What each policy does and what its parameters mean, in words. A policy or parameter without an entry shows its own name.
import { t } from "@lingui/core/macro";

export interface ParameterWords {
  label: string;
  /** What a larger value, or the choice, does. */
  about: string;
  /** Of one that takes one of several texts. */
  options?: readonly string[];
}

export const POLICIES: Readonly<Record<string, string>> = {
  fifo: t`In order of submission, at fixed sizes; a job that does not fit holds up those behind it.`,
  backfill: t`In order of submission, at fixed sizes; jobs behind one that does not fit may overtake it.`,
  srtf: t`The shortest remaining time first; preempts longer jobs.`,
  srsf: t`The fewest remaining GPU-seconds first; preempts.`,
  las: t`The least GPU time so far first, in queues; needs no predictions.`,
  fair: t`Max-min fairness: organisations get equal GPUs by weight, job by job.`,
  priority: t`By priority in bands, as Borg; preempts between bands only.`,
  drf: t`Dominant resource fairness: the organisation with the smallest share of any resource is next.`,
  capacity: t`A queue for each organisation with a guaranteed capacity, as YARN; idle capacity is lent.`,
  optimus: t`Every job gets its least size; each further GPU goes where it saves most time.`,
  themis: t`Finish-time fairness: the jobs that are worst off bid for GPUs, which they hold for a lease.`,
  gavel: t`Shares GPU types by how fast each job is on them; jobs take turns.`,
  dl2: t`A neural network that learned from simulated clusters chooses sizes.`,
  pollux: t`Searches for the sizes with the best goodput: speed times statistical efficiency.`,
  sia: t`Chooses GPU type and size of each job by goodput, with a linear program.`,
  mlhub: t`GPUs go where they shorten the average completion time most; restarts are charged, jobs are resized.`,
  muri: t`Interleaves up to four jobs on the same GPUs, chosen so that they use different resources.`,
  antman: t`Guarantees jobs of a priority above 0, and runs the others opportunistically on the same GPUs.`,
  gandiva: t`Time slices: jobs take turns, and pairs that do not slow each other share GPUs.`,
  tiresias: t`The least GPU time so far first, or by the Gittins index of the lengths of past jobs.`,
};

const ASSUMED_RESTART = t`What a restart is taken to cost, until it is measured.`;
const MOVES_AT_ONCE: ParameterWords = {
  label: t`Jobs that change are placed at once`,
  about: t`Yes: in the round in which others leave. No: in the one after it.`,
};
const AS_PUBLISHED: ParameterWords = {
  label: t`As the published simulator`,
  about: t`Yes: demotes at the events that the published simulator predicts, and promotes no job.`,
};
const SERVICE: Readonly<Record<string, ParameterWords>> = {
  limits: { label: t`Limits of the queues (GPU-seconds)`, about: t`A list, such as [3250, 7200]: a job that had so much moves to the next queue.` },
  promote_after: { label: t`Promotion after`, about: t`A job that waited so many times as long as it ran returns to the first queue; 0: never.` },
  order: { label: t`Order inside a queue`, about: t`served: those that had GPUs first; entered: by when they entered the queue.`, options: ["served", "entered"] },
  roomiest: { label: t`Emptiest nodes first`, about: t`Yes: jobs are placed as if those that are preempted had left already.` },
  compatible: AS_PUBLISHED,
  whole_seconds: { label: t`Whole seconds`, about: t`Yes: limits are counted in whole seconds, as in Muri's simulator. Only with the option before.` },
};

export const PARAMETERS: Readonly<Record<string, Readonly<Record<string, ParameterWords>>>> = {
  backfill: {
    reservations: { label: t`Reservations`, about: t`How many jobs that do not fit are not delayed by those behind them: 0 none, 1 as EASY, -1 all.` },
  },
  las: SERVICE,
  tiresias: {
    ...SERVICE,
    rule: { label: t`Rule`, about: t`las: the least GPU time first; gittins: the likeliest to end soon, for what it will cost.`, options: ["las", "gittins"] },
    samples: { label: t`Lengths of past jobs (GPU-seconds)`, about: t`A list, for gittins; empty: of the jobs that ended here, from 30 of them on.` },
  },
  priority: {
    bands: { label: t`Bands`, about: t`A list of the lowest priorities of the bands, ascending; empty: every priority is a band.` },
    spread: { label: t`Spread over nodes`, about: t`Yes: the emptiest nodes first. No: the best fit.` },
  },
  drf: { preempts: { label: t`Preempts`, about: t`Yes: jobs of those above their share make room. No: shares move only as jobs end.` } },
  capacity: {
    inside: { label: t`Order inside a queue`, about: t`fifo: by priority and submission; fair: the least GPU time first.`, options: ["fifo", "fair"] },
    reclaims: { label: t`Reclaims`, about: t`Yes: jobs above the guarantee of their queue leave for those below theirs.` },
  },
  optimus: { moves_at_once: MOVES_AT_ONCE },
  themis: {
    fairness: { label: t`Fairness`, about: t`From 0 to 1: only the worst-off part of the jobs bids, at 0.8 a fifth of them.` },
    lease_s: { label: t`Lease (seconds)`, about: t`How long a job keeps the GPUs that it won.` },
  },
  gavel: {
    objective: { label: t`Objective`, about: t`What is optimised; all but the first use predicted lengths.`, options: ["max_min_fairness", "makespan", "min_total_jct", "finish_time_fairness"] },
    round_s: { label: t`Length of a turn (seconds)`, about: t`Until it is over no running job is disturbed.` },
    space_sharing: { label: t`Pairs share GPUs`, about: t`Yes: pairs that gain by it take turns as one job.` },
  },
  dl2: { slot_s: { label: t`Length of a slot (seconds)`, about: t`Inside a slot running jobs keep their sizes.` } },
  pollux: {
    power: { label: t`Fairness exponent`, about: t`Of the mean over jobs: the lower it is, the more the slowest job counts.` },
    delay_s: { label: t`Cost of a restart (seconds)`, about: ASSUMED_RESTART },
    avoids_interference: { label: t`Avoids interference`, about: t`Yes: of jobs on several nodes at most one touches a node.` },
    population: { label: t`Population`, about: t`Allocations that the genetic search keeps: more find better ones and take longer.` },
    generations: { label: t`Generations`, about: t`How often the search goes on from them.` },
    patience: { label: t`Generations without gain`, about: t`After so many the search ends early.` },
    moves_at_once: MOVES_AT_ONCE,
  },
  sia: {
    power: { label: t`Fairness exponent`, about: t`Not 0. Below 0 the slowest jobs count most.` },
    unallocated: { label: t`Penalty of waiting`, about: t`What a job without GPUs costs; 1 is as much as one at its least size.` },
    change: { label: t`Penalty of a change`, about: t`What leaving a configuration costs.` },
    delay_s: { label: t`Cost of a restart (seconds)`, about: ASSUMED_RESTART },
    round_s: { label: t`Next look (seconds)`, about: t`At most so long until a job that grows step by step is looked at again.` },
  },
  mlhub: {
    margin: { label: t`Charge of a restart`, about: t`A change is charged one plus so many times its restart. Larger: fewer restarts, slower reactions.` },
    horizon_s: { label: t`Horizon (seconds)`, about: t`The time in which a change has to pay. Larger: changes pay sooner.` },
    cooldown_s: { label: t`Cool-down (seconds)`, about: t`The least time between two changes of a job.` },
    last_stretch: { label: t`Protected end (restarts)`, about: t`A job that ends sooner than so many restarts take is neither resized nor preempted.` },
    least_training: { label: t`Least training (starts)`, about: t`More than the least GPUs only for jobs that then train at least so many times their start.` },
    patience_s: { label: t`Patience (seconds)`, about: t`A job that waited longer gets its least size before all others, if the next condition holds, too.` },
    patience: { label: t`Patience (remaining times)`, about: t`It also waited so many times as long as it still has to train.` },
    min_gain: { label: t`Least gain`, about: t`The relative gain from which on a job gets more workers; 0.03 is 3 %.` },
    stickiness: { label: t`Preference for the present size`, about: t`What keeping a size is worth by itself, since predictions are not exact; 0.05 is 5 %.` },
    prices_places: { label: t`Places by their links`, about: t`Yes: of several racks, places are compared by what their links give and take from others.` },
    shares: { label: t`Jobs share GPUs`, about: t`Yes: where nodes allow it, jobs that gain by it run on the same GPUs.` },
  },
  muri: {
    most: { label: t`Jobs in a group`, about: t`From 1 to 4.` },
    dissolves: { label: t`Dissolves slow groups`, about: t`Yes: groups that would be slower than one job after the other are separated.` },
  },
  antman: { reserves: { label: t`Reserves GPUs`, about: t`Yes: GPUs that come free are kept for a guaranteed job that does not fit yet.` } },
  gandiva: {
    least_times: { label: t`Least gain of a pair`, about: t`Pairs that together do less than so many times the work of one are separated.` },
    slice_s: { label: t`Time slice (seconds)`, about: t`After so long a job makes room for the one that waited longest.` },
  },
};
