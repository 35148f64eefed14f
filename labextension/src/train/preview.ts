/**
 * What the engine says of a job before it is submitted: how its form begins, what would be sent, and what is wrong.
 */

import { EngineError } from '../api/engine.js';
import type { ITrouble } from '../api/jobmodel.js';
import type { Json } from '../api/wire.js';
import { list, mapped, number, record, string, strings } from '../api/wire.js';

/** The job whose settings a form begins with. `submittedAt` is in milliseconds since 1970. */
export interface ILast {
  readonly id: string;
  readonly name: string;
  readonly submittedAt: number | null;
}

/** How a form begins. `entries` are what can be run of the folder. */
export interface IForm {
  readonly request: Json;
  readonly kind: string;
  readonly last: ILast | null;
  readonly entries: readonly string[];
}

/** A hyperparameter that the code declares. `form` is `option` for one that can be given a value. */
export interface IDeclared {
  readonly name: string;
  readonly type: string;
  readonly default: string | null;
  readonly required: boolean;
  readonly choices: readonly string[];
  /** The least and the greatest number that the code allows; empty where it says none. */
  readonly minimum: string;
  readonly maximum: string;
  readonly help: string;
  readonly file: string;
  readonly line: number;
  readonly form: string;
  readonly aliases: readonly string[];
}

/** What looks like a key, or is one: in which file, in which line (0 if that is not known), of which cell (0 if of none). */
export interface ILeak {
  readonly path: string;
  readonly line: number;
  readonly cell: number;
  readonly what: string;
}

/** What would be submitted. Sizes are in bytes. */
export interface IPreview {
  readonly backend: string;
  readonly profile: string;
  readonly command: string;
  readonly python: string;
  readonly notes: readonly string[];
  /** What the user has to agree to; the cost may be one of it. */
  readonly questions: readonly string[];
  /** Which machines, their price, for how long; empty where nothing is to be paid. */
  readonly cost: string;
  readonly files: number;
  readonly bytes: number;
  readonly biggest: readonly { readonly path: string; readonly bytes: number }[];
  readonly leftOut: readonly { readonly path: string; readonly why: string }[];
  /** What looks like keys in what is sent; null where nobody has looked yet. */
  readonly leaks: readonly ILeak[] | null;
  /** The instance type that the platform has found for sizes. */
  readonly instanceType: string;
}

/** What is wrong: words for each field, by its name in a spec, and those that are of no field. */
export interface IWrong {
  readonly faults: ReadonlyMap<string, string>;
  readonly trouble: ITrouble | null;
  /** Keys that keep the code from being sent. */
  readonly leaks: readonly ILeak[];
}

export const NOTHING_WRONG: IWrong = { faults: new Map(), trouble: null, leaks: [] };

/** Whether anything is wrong. */
export function hasFaults({ faults, trouble }: IWrong): boolean {
  return trouble !== null || faults.size > 0;
}

export function parseForm(value: unknown): IForm {
  const form = record(value);
  const last = record(form['last']);
  const submittedAt = Date.parse(string(last['submitted_at']));
  return {
    request: record(form['request']),
    kind: string(form['kind']),
    last: string(last['id'])
      ? {
          id: string(last['id']),
          name: string(last['name']),
          submittedAt: Number.isNaN(submittedAt) ? null : submittedAt
        }
      : null,
    entries: strings(form['entries'])
  };
}

/** The declarations in an answer of `preview` or `inspect`. */
export function parseDeclared(value: unknown): readonly IDeclared[] {
  return list(record(value)['hyperparameters'])
    .map(record)
    .map(one => ({
      name: string(one['name']),
      type: string(one['type']),
      default: typeof one['default'] === 'string' ? one['default'] : null,
      required: one['required'] === true,
      choices: strings(one['choices']),
      minimum: string(one['minimum']),
      maximum: string(one['maximum']),
      help: string(one['help']),
      file: string(one['file']),
      line: number(one['line']) ?? 0,
      form: string(one['form']),
      aliases: strings(one['aliases'])
    }));
}

export function parsePreview(value: unknown): IPreview {
  const found = record(value);
  const spec = record(found['spec']);
  return {
    backend: string(found['backend']),
    profile: string(found['profile']),
    command: string(found['command']),
    python: string(found['python']),
    notes: strings(found['notes']),
    questions: strings(found['questions']),
    cost: string(found['cost']),
    files: number(found['files']) ?? 0,
    bytes: number(found['bytes']) ?? 0,
    biggest: list(found['biggest'])
      .map(record)
      .map(one => ({ path: string(one['path']), bytes: number(one['bytes']) ?? 0 })),
    leftOut: list(found['left_out'])
      .map(record)
      .map(one => ({ path: string(one['path']), why: string(one['why']) })),
    leaks: found['leaks'] === null ? null : parseLeaks(found['leaks']),
    instanceType: string(spec['instance_type'])
  };
}

function parseLeaks(value: unknown): readonly ILeak[] {
  return list(value)
    .map(record)
    .map(one => ({
      path: string(one['path']),
      line: number(one['line']) ?? 0,
      cell: number(one['cell']) ?? 0,
      what: string(one['what']) || string(one['kind'])
    }));
}

/** What an error says, beside the fields that it is about. */
export function wrongOf(error: unknown): IWrong {
  if (!(error instanceof EngineError)) {
    return { ...NOTHING_WRONG, trouble: { message: error instanceof Error ? error.message : String(error), fix: '' } };
  }
  const faults = mapped(error.details['faults'], string);
  const { message, fix } = error;
  const leaks = parseLeaks(error.details['leaks']);
  // Words without a field are about the whole.
  if (faults.size === 0 || faults.has('')) {
    return { faults: new Map([...faults].filter(([name]) => name)), trouble: { message, fix }, leaks };
  }
  // What to do is said with what is wrong, once.
  const whole = (text: string) => (text.endsWith(fix) ? text : `${text} ${fix}`);
  const told = faults.size === 1 ? [...faults].map(([name, text]) => [name, whole(text)] as const) : faults;
  return { faults: new Map(told), trouble: null, leaks };
}
