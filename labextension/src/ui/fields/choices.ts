/**
 * Values that a platform has for a field, such as queues or quotas.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import type { IEngine } from '../../api/engine.js';
import { list, number, record, string } from '../../api/wire.js';
import type { ISuggestion } from './combobox.js';

/** A list. `time`: when the platform returned it, in milliseconds since 1970; null if it never did. */
export interface IChoiceList {
  readonly choices: readonly ISuggestion[];
  readonly time: number | null;
  /** The number of values hidden by the administrator. */
  readonly hiddenCount: number;
  /** The reason that the list is not current, with its fix; empty if it is. */
  readonly problem: string;
}

/** Returns a list by its name. `isRefresh`: even if the engine has a recent one. */
export type ChoiceSource = (name: string, isRefresh: boolean) => Promise<IChoiceList>;

/** Return the source of the lists of a profile. */
export function choiceSource(engine: IEngine, profile: string): ChoiceSource {
  return async (name, isRefresh) =>
    parseChoices(await engine.call('choices', { name, profile, ...(isRefresh ? { refresh: true } : {}) }), Date.now());
}

/** Parse the response of `choices`, received at `now`. */
export function parseChoices(value: unknown, now: number): IChoiceList {
  const response = record(value);
  const age = number(response['age']);
  const choices = list(response['choices']).map(item => {
    const { value, label } = record(item);
    return { text: string(value), name: string(value), description: string(label) };
  });
  return {
    choices,
    time: age === null ? null : now - 1000 * age,
    hiddenCount: number(response['left_out']) ?? 0,
    problem: [string(response['problem']), string(response['fix'])].filter(Boolean).join(' ')
  };
}

/** Return the values that contain a text, in the value or its description; all for one of the values. */
export function matchingChoices(choices: readonly ISuggestion[], text: string): readonly ISuggestion[] {
  const word = text.trim().toLowerCase();
  if (choices.some(choice => choice.text === text)) {
    return choices;
  }
  return choices.filter(choice => `${choice.text} ${choice.description ?? ''}`.toLowerCase().includes(word));
}

/** Format the age of a list: `2 min ago`. */
export function ageText(milliseconds: number, trans: TranslationBundle): string {
  const minutes = Math.floor(milliseconds / 60_000);
  if (minutes < 1) {
    return trans.__('just now');
  }
  if (minutes < 60) {
    return trans.__('%1 min ago', minutes);
  }
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? trans.__('%1 h ago', hours) : trans.__('%1 days ago', Math.floor(hours / 24));
}
