/**
 * Conversion of form fields between text and JSON.
 *
 * An empty field is left out. A text that cannot be parsed is passed on unchanged, so that the engine reports the error
 * and no input is lost.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import type { Json } from '../../api/wire.js';
import { list, number, record, string } from '../../api/wire.js';
import type { IField } from './schemafields.js';

/** A parsed field: its value, undefined if empty, and the error, empty if there is none. */
export interface IParsedField {
  readonly value: unknown;
  readonly error: string;
}

/** Return a JSON value as the text of a field. */
export function textOf(field: IField, value: unknown): string {
  if (value === undefined || value === null) {
    return '';
  }
  if (typeof value === 'string') {
    return value;
  }
  if (field.kind === 'list' && list(value).every(item => item !== '' && isLine(item, /\n|^\[/))) {
    return list(value).join('\n');
  }
  const pairs = Object.entries(record(value));
  if (field.kind === 'map' && pairs.every(([name, item]) => name && isLine(name, /[\n=]|^\{/) && isLine(item, /\n/))) {
    return pairs.map(([name, item]) => `${name}=${String(item)}`).join('\n');
  }
  return JSON.stringify(value, null, field.kind === 'json' ? 1 : undefined);
}

/** Return whether an item fits on one line and parses back to itself. */
function isLine(item: unknown, forbidden: RegExp): boolean {
  return typeof item === 'string' && item.trim() === item && !forbidden.test(item);
}

/** Parse the text of a field. */
export function parseField(field: IField, text: string, trans: TranslationBundle): IParsedField {
  if (text.trim() === '') {
    return { value: undefined, error: '' };
  }
  switch (field.kind) {
    case 'integer':
    case 'number':
      return parseNumber(field, text, trans);
    case 'list':
      return text.trim().startsWith('[') ? parseJson(text, trans) : { value: lines(text), error: '' };
    case 'map':
      return text.trim().startsWith('{') ? parseJson(text, trans) : parseMap(text, trans);
    case 'json':
      return parseJson(text, trans);
    case 'boolean':
    case 'choice':
    case 'object':
      return { value: field.choices.find(choice => String(choice) === text) ?? text, error: '' };
    case 'text':
    case 'secret':
      return { value: text, error: textError(field, text, trans) };
  }
}

function parseNumber({ kind, rules }: IField, text: string, trans: TranslationBundle): IParsedField {
  const typed = text.trim();
  const value = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(typed) ? Number(typed) : NaN;
  if (!Number.isFinite(value)) {
    return {
      value: text,
      error: kind === 'integer' ? trans.__('Must be an integer.') : trans.__('Must be a number.')
    };
  }
  if (kind === 'integer' && !Number.isSafeInteger(value)) {
    return { value: text, error: trans.__('Must be an integer.') };
  }
  return { value, error: numberError(value, rules, trans) };
}

function numberError(value: number, rules: Json, trans: TranslationBundle): string {
  const bound = (name: string) => number(rules[name]);
  const [minimum, exclusiveMinimum, maximum, exclusiveMaximum] = [
    bound('minimum'),
    bound('exclusiveMinimum'),
    bound('maximum'),
    bound('exclusiveMaximum')
  ];
  if (minimum !== null && value < minimum) {
    return trans.__('Must be at least %1.', minimum);
  }
  if (exclusiveMinimum !== null && value <= exclusiveMinimum) {
    return trans.__('Must be greater than %1.', exclusiveMinimum);
  }
  if (maximum !== null && value > maximum) {
    return trans.__('Must be at most %1.', maximum);
  }
  return exclusiveMaximum !== null && value >= exclusiveMaximum
    ? trans.__('Must be less than %1.', exclusiveMaximum)
    : '';
}

function textError({ rules }: IField, text: string, trans: TranslationBundle): string {
  const [minimum, maximum, pattern] = [
    number(rules['minLength']),
    number(rules['maxLength']),
    string(rules['pattern'])
  ];
  // Count code points, as Python does.
  const length = Array.from(text).length;
  if (minimum !== null && length < minimum) {
    return trans.__('Must have at least %1 characters.', minimum);
  }
  if (maximum !== null && length > maximum) {
    return trans.__('Too long: %1 characters, at most %2 allowed.', length, maximum);
  }
  return pattern && !matches(pattern, text) ? trans.__('Invalid format.') : '';
}

/** Return whether a text matches; patterns that the browser does not support are left to the engine. */
function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return true;
  }
}

function parseJson(text: string, trans: TranslationBundle): IParsedField {
  try {
    return { value: JSON.parse(text), error: '' };
  } catch {
    return { value: text, error: trans.__('Must be JSON, such as {"name": "value"}.') };
  }
}

function parseMap(text: string, trans: TranslationBundle): IParsedField {
  const pairs = lines(text).map(line => [line, line.indexOf('=')] as const);
  const invalid = pairs.find(([, index]) => index < 1);
  if (invalid) {
    return { value: text, error: trans.__('Each line must be NAME=VALUE: %1', invalid[0]) };
  }
  const value = Object.fromEntries(
    pairs.map(([line, index]) => [line.slice(0, index).trim(), line.slice(index + 1).trim()])
  );
  return { value, error: '' };
}

function lines(text: string): readonly string[] {
  return text
    .split('\n')
    .map(line => line.trim())
    .filter(Boolean);
}
