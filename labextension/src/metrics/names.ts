/**
 * Information in metric names: group, direction and unit.
 */

/** Metrics under one title. `key` is '' for names without a prefix. */
export interface IGroup {
  readonly key: string;
  readonly names: readonly string[];
}

export type Unit = 'cores' | 'bytes' | 'percent' | '';

/** The group of resource usage metrics. */
export const SYSTEM = 'system';

const UNITS: ReadonlyMap<string, Unit> = new Map([
  ['system/cpu', 'cores'],
  ['system/memory', 'bytes'],
  ['system/gpu', 'percent'],
  ['system/gpu_memory', 'bytes']
]);

// Words of metrics to minimize, including those that end in `loss` or `error`.
const MINIMIZED =
  /^(loss(es)?|errors?|err|perplexity|ppl|mae|mse|rmse|rmsle|mape|nll|bce|wer|cer|ter|fid|kl|bpc|bpb|regret|latency)$|(loss|error)$|损失|误差|错误/;

/** Group metrics by the part before the first `/`: names without one first, system metrics last. */
export function groupMetrics(names: Iterable<string>): IGroup[] {
  const groups = new Map<string, string[]>();
  for (const name of names) {
    const slash = name.indexOf('/');
    const key = slash > 0 ? name.slice(0, slash) : '';
    groups.set(key, [...(groups.get(key) ?? []), name]);
  }
  const rank = (key: string) => (key === '' ? 0 : key === SYSTEM ? 2 : 1);
  return [...groups].map(([key, groupNames]) => ({ key, names: groupNames })).sort((a, b) => rank(a.key) - rank(b.key));
}

/** Return whether the smallest or the largest value of a metric is the best, guessed from its name. */
export function bestDirection(name: string): 'min' | 'max' {
  const words = name
    .replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u);
  return words.some(word => MINIMIZED.test(word)) ? 'min' : 'max';
}

export function unitOf(name: string): Unit {
  return UNITS.get(name) ?? '';
}
