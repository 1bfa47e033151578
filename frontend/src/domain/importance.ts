// SPDX-License-Identifier: Apache-2.0
// How the importance of hyperparameters is computed, in words: the API's `method` is in English only.
import { t } from "@lingui/core/macro";

export const IMPORTANCE_METHOD = t`Share of the variance of the results’ ranks that the hyperparameter explains by itself: squared Spearman correlation of numbers, correlation ratio of choices. Interactions are not seen.`;
