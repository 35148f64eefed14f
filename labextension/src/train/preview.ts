/**
 * Types and parsers of a job before it is submitted: initial form, preview and errors.
 */

import { EngineError } from '../api/engine.js';
import type { ITrouble } from '../api/jobmodel.js';
import type { Json } from '../api/wire.js';
import { list, mapped, number, record, string, strings } from '../api/wire.js';

/** The job whose settings the form uses. `submittedAt` is in milliseconds since 1970. */
export interface ILast {
  readonly id: string;
  readonly name: string;
  readonly submittedAt: number | null;
}

/** The initial form. `entries` are possible entry points of the folder. */
export interface IForm {
  readonly request: Json;
  readonly kind: string;
  readonly last: ILast | null;
  readonly entries: readonly string[];
}

/** A hyperparameter declared in the code. `form` is `option` if it can be set. */
export interface IDeclared {
  readonly name: string;
  readonly type: string;
  readonly default: string | null;
  readonly required: boolean;
  readonly choices: readonly string[];
  /** The allowed range; empty if unlimited. */
  readonly minimum: string;
  readonly maximum: string;
  readonly help: string;
  readonly file: string;
  readonly line: number;
  readonly form: string;
  readonly aliases: readonly string[];
}

/** A detected or possible secret: file, line (0 if unknown) and cell (0 if none). */
export interface ILeak {
  readonly path: string;
  readonly line: number;
  readonly cell: number;
  readonly what: string;
}

/** The job to submit. Sizes are in bytes. */
export interface IPreview {
  readonly backend: string;
  readonly profile: string;
  readonly command: string;
  readonly python: string;
  readonly notes: readonly string[];
  /** Questions to confirm, possibly about the cost. */
  readonly questions: readonly string[];
  /** The cost: instances, price and duration; empty if the job is free. */
  readonly cost: string;
  readonly files: number;
  readonly bytes: number;
  readonly biggest: readonly { readonly path: string; readonly bytes: number }[];
  readonly leftOut: readonly { readonly path: string; readonly why: string }[];
  /** Possible secrets in the uploaded files; null if they were not scanned yet. */
  readonly leaks: readonly ILeak[] | null;
  /** The instance type that the platform selected for the requested sizes. */
  readonly instanceType: string;
}

/** Errors by field name of the spec, and other errors. */
export interface IWrong {
  readonly faults: ReadonlyMap<string, string>;
  readonly trouble: ITrouble | null;
  /** Secrets that prevent uploading the code. */
  readonly leaks: readonly ILeak[];
}

export const NOTHING_WRONG: IWrong = { faults: new Map(), trouble: null, leaks: [] };

/** Whether there is an error. */
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

/** Parse the declared hyperparameters of a response of `preview` or `inspect`. */
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

/** Assign the parts of an error to the fields they concern. */
export function wrongOf(error: unknown): IWrong {
  if (!(error instanceof EngineError)) {
    return { ...NOTHING_WRONG, trouble: { message: error instanceof Error ? error.message : String(error), fix: '' } };
  }
  const faults = mapped(error.details['faults'], string);
  const { message, fix } = error;
  const leaks = parseLeaks(error.details['leaks']);
  // An error without a field concerns the whole request.
  if (faults.size === 0 || faults.has('')) {
    return { faults: new Map([...faults].filter(([name]) => name)), trouble: { message, fix }, leaks };
  }
  // Append the fix to a single error, unless it already ends with it.
  const whole = (text: string) => (text.endsWith(fix) ? text : `${text} ${fix}`);
  const told = faults.size === 1 ? [...faults].map(([name, text]) => [name, whole(text)] as const) : faults;
  return { faults: new Map(told), trouble: null, leaks };
}
