/**
 * Types and parsers of a job before it is submitted: initial form, preview and errors.
 */

import type { IErrorMessage } from '../api/engine.js';
import { EngineError } from '../api/engine.js';
import type { Json } from '../api/wire.js';
import { list, number, parseMap, record, string, strings } from '../api/wire.js';

/** The job whose settings the form uses. `submittedAt` is in milliseconds since 1970. */
export interface ILastJob {
  readonly id: string;
  readonly name: string;
  readonly submittedAt: number | null;
}

/** The initial form. `entries` are possible entry points of the folder; `notes` are on a job file of a platform. */
export interface IInitialForm {
  readonly request: Json;
  /** The request of a first visit, without the settings of an earlier job. */
  readonly defaults: Json;
  readonly kind: string;
  readonly last: ILastJob | null;
  readonly entries: readonly string[];
  readonly notes: readonly string[];
}

/** A hyperparameter declared in the code. `form` is `option` if it can be set. */
export interface IDeclaredHyperparameter {
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
export interface ISecretMatch {
  readonly path: string;
  readonly line: number;
  readonly cell: number;
  readonly description: string;
}

/** The job to submit. Sizes are in bytes. */
export interface IPreview {
  readonly backend: string;
  readonly profile: string;
  readonly command: string;
  readonly python: string;
  readonly notes: readonly string[];
  /** Errors with which the script certainly exits, by field: the submit is refused. */
  readonly refused: ReadonlyMap<string, string>;
  /** Questions to confirm, possibly about the cost. */
  readonly questions: readonly string[];
  /** The cost: instances, price and duration; empty if the job is free. */
  readonly cost: string;
  readonly files: number;
  readonly bytes: number;
  readonly largest: readonly { readonly path: string; readonly bytes: number }[];
  /** The first excluded paths, and the number of all. */
  readonly excluded: readonly { readonly path: string; readonly why: string }[];
  readonly excludedCount: number;
  /** Possible secrets in the uploaded files; null if they were not scanned yet. */
  readonly secrets: readonly ISecretMatch[] | null;
  /** The instance type that the platform selected for the requested sizes. */
  readonly instanceType: string;
  /** The text that the platform would be sent; empty if it is not shown. */
  readonly document: string;
  /** That text with the repairs that its warnings offer; empty if there are none. */
  readonly mended: string;
  /** The faults of the job's own document. */
  readonly problems: readonly IProblem[];
}

/** A fault of a document. `line` is 0 if it is unknown. An error refuses the submit; others are warnings. */
export interface IProblem {
  readonly line: number;
  readonly path: string;
  readonly text: string;
  readonly fix: string;
  readonly isError: boolean;
}

/** Errors by field name of the spec, and other errors. */
export interface IFormErrors {
  readonly fields: ReadonlyMap<string, string>;
  readonly message: IErrorMessage | null;
  /** Secrets that prevent uploading the code. */
  readonly secrets: readonly ISecretMatch[];
  /** True if only the script would reject the request, so that the user may submit it anyway. */
  readonly canSubmitAnyway?: boolean;
}

export const NO_ERRORS: IFormErrors = { fields: new Map(), message: null, secrets: [] };

/** Return the errors of a document as those of its field, with which the engine refuses a submit too. */
export function documentErrors({ problems }: IPreview): IFormErrors {
  const errors = problems.filter(problem => problem.isError).map(({ text, fix }) => `${text} ${fix}`);
  return errors.length ? { ...NO_ERRORS, fields: new Map([['options.document', errors.join(' ')]]) } : NO_ERRORS;
}

/** Return whether there is an error. */
export function hasErrors({ fields, message }: IFormErrors): boolean {
  return message !== null || fields.size > 0;
}

export function parseInitialForm(value: unknown): IInitialForm {
  const form = record(value);
  const last = record(form['last']);
  const submittedAt = Date.parse(string(last['submitted_at']));
  return {
    request: record(form['request']),
    defaults: record(form['defaults'] ?? form['request']), // A server of an earlier version returns no defaults.
    kind: string(form['kind']),
    last: string(last['id'])
      ? {
          id: string(last['id']),
          name: string(last['name']),
          submittedAt: Number.isNaN(submittedAt) ? null : submittedAt
        }
      : null,
    entries: strings(form['entries']),
    notes: strings(form['notes'])
  };
}

/** Parse the declared hyperparameters of a response of `preview` or `inspect`. */
export function parseDeclared(value: unknown): readonly IDeclaredHyperparameter[] {
  return list(record(value)['hyperparameters'])
    .map(record)
    .map(item => ({
      name: string(item['name']),
      type: string(item['type']),
      default: typeof item['default'] === 'string' ? item['default'] : null,
      required: item['required'] === true,
      choices: strings(item['choices']),
      minimum: string(item['minimum']),
      maximum: string(item['maximum']),
      help: string(item['help']),
      file: string(item['file']),
      line: number(item['line']) ?? 0,
      form: string(item['form']),
      aliases: strings(item['aliases'])
    }));
}

export function parsePreview(value: unknown): IPreview {
  const data = record(value);
  const spec = record(data['spec']);
  return {
    backend: string(data['backend']),
    profile: string(data['profile']),
    command: string(data['command']),
    python: string(data['python']),
    notes: strings(data['notes']),
    refused: parseMap(data['refused'], string),
    questions: strings(data['questions']),
    cost: string(data['cost']),
    files: number(data['files']) ?? 0,
    bytes: number(data['bytes']) ?? 0,
    largest: list(data['biggest'])
      .map(record)
      .map(item => ({ path: string(item['path']), bytes: number(item['bytes']) ?? 0 })),
    excluded: list(data['left_out'])
      .map(record)
      .map(item => ({ path: string(item['path']), why: string(item['why']) })),
    excludedCount: number(data['excluded']) ?? 0,
    secrets: data['leaks'] === null ? null : parseSecretMatches(data['leaks']),
    instanceType: string(spec['instance_type']),
    document: string(record(data['document'])['text']),
    mended: string(record(data['document'])['mended']),
    problems: list(data['problems'])
      .map(record)
      .map(item => ({
        line: number(item['line']) ?? 0,
        path: string(item['path']),
        text: string(item['text']),
        fix: string(item['fix']),
        isError: item['is_error'] === true
      }))
  };
}

function parseSecretMatches(value: unknown): readonly ISecretMatch[] {
  return list(value)
    .map(record)
    .map(item => ({
      path: string(item['path']),
      line: number(item['line']) ?? 0,
      cell: number(item['cell']) ?? 0,
      description: string(item['what']) || string(item['kind'])
    }));
}

/** Assign the parts of an error to the fields they concern. */
export function formErrorsOf(error: unknown): IFormErrors {
  if (!(error instanceof EngineError)) {
    return { ...NO_ERRORS, message: { message: error instanceof Error ? error.message : String(error), fix: '' } };
  }
  const errors = parseMap(error.details['faults'], string);
  const { message, fix } = error;
  const leaks = parseSecretMatches(error.details['leaks']);
  // An error without a field concerns the whole request.
  if (errors.size === 0 || errors.has('')) {
    return { fields: new Map([...errors].filter(([name]) => name)), message: { message, fix }, secrets: leaks };
  }
  if (error.code === 'ArgumentsRefused') {
    return { fields: errors, message: null, secrets: leaks, canSubmitAnyway: true };
  }
  // Append the fix to a single error, unless it already ends with it.
  const whole = (text: string) => (text.endsWith(fix) ? text : `${text} ${fix}`);
  const fields = errors.size === 1 ? [...errors].map(([name, text]) => [name, whole(text)] as const) : errors;
  return { fields: new Map(fields), message: null, secrets: leaks };
}
