/**
 * The texts that a view shows of a run and its steps, and how often it polls the run.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import type { IRun, IStep } from '../api/workflowrun.js';
import { hasRunEnded, hasStepEnded } from '../api/workflowrun.js';
import { duration, plural } from '../ui/format.js';
import { statusName } from '../ui/statusbadge.js';

/** A condition: not decided yet, or its result. */
export type Decision = 'undecided' | 'true' | 'false';

// Milliseconds between two polls of an active run, for each thousand steps more, and of one that has ended: it may be
// resumed elsewhere.
const ACTIVE_INTERVAL = 1000;
const INTERVAL_PER_THOUSAND = 4000;
const ENDED_INTERVAL = 15_000;

/** Return the milliseconds until the next poll of a run. */
export function pollInterval(run: IRun | null): number {
  if (run && hasRunEnded(run)) {
    return ENDED_INTERVAL;
  }
  return ACTIVE_INTERVAL + (INTERVAL_PER_THOUSAND * (run?.steps.length ?? 0)) / 1000;
}

/** Return whether the condition of a step holds. A step is skipped without values if an earlier one did not succeed. */
export function decisionOf({ status, values }: IStep): Decision {
  if (values.size === 0) {
    return 'undecided';
  }
  return status === 'skipped' ? 'false' : 'true';
}

/** Return the values that decided a condition: `train.accuracy = 0.97`. */
export function valuesText({ values }: IStep): string {
  return [...values].map(([reference, value]) => `${reference} = ${value}`).join(', ');
}

/** Return a condition with the values in place of the references: `0.97 > 0.9`. */
export function decidedText({ when, values }: IStep): string {
  return when
    .split(/([\s()]+)/)
    .map(word => values.get(word) ?? word)
    .join('');
}

/** Return the time that a step has taken, or takes so far; empty before its start. */
export function stepDuration({ startedAt, endedAt }: IStep, now: number, trans: TranslationBundle): string {
  return startedAt === null ? '' : duration((endedAt ?? now) - startedAt, trans);
}

/** Return the facts of a step beside its status: its time, its attempt, and whether its job is that of another run. */
export function stepFacts(step: IStep, now: number, trans: TranslationBundle): string[] {
  return [
    stepDuration(step, now, trans),
    step.attempt > 1 ? trans.__('attempt %1', step.attempt) : '',
    step.reused ? trans.__('taken over') : ''
  ].filter(Boolean);
}

/** Return a step in one line, for screen readers and as a tooltip. */
export function stepText(step: IStep, now: number, trans: TranslationBundle): string {
  const { name, status, when, reason, fix } = step;
  return [
    [name, statusName(status, trans), ...stepFacts(step, now, trans)].join(' · '),
    when && trans.__('Condition: %1', when),
    valuesText(step),
    reason,
    fix
  ]
    .filter(Boolean)
    .join('\n');
}

/** Return how many steps have ended, as `3 of 5 steps ended`. */
export function progressText(ended: number, count: number, trans: TranslationBundle): string {
  return plural(count, trans.__('%1 of %2 step ended', ended, count), trans.__('%1 of %2 steps ended', ended, count));
}

/** Return whether a clock of the run advances. */
export function isTimed(run: IRun | null): boolean {
  return run !== null && (!hasRunEnded(run) || run.steps.some(isStepRunning));
}

function isStepRunning(step: IStep): boolean {
  return step.startedAt !== null && !hasStepEnded(step);
}
