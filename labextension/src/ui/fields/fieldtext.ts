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
export interface IReading {
  readonly value: unknown;
  readonly fault: string;
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

/** Whether an item fits on one line and parses back to itself. */
function isLine(item: unknown, forbidden: RegExp): boolean {
  return typeof item === 'string' && item.trim() === item && !forbidden.test(item);
}

/** Parse the text of a field. */
export function read(field: IField, text: string, trans: TranslationBundle): IReading {
  if (text.trim() === '') {
    return { value: undefined, fault: '' };
  }
  switch (field.kind) {
    case 'integer':
    case 'number':
      return readNumber(field, text, trans);
    case 'list':
      return text.trim().startsWith('[') ? readJson(text, trans) : { value: lines(text), fault: '' };
    case 'map':
      return text.trim().startsWith('{') ? readJson(text, trans) : readMap(text, trans);
    case 'json':
      return readJson(text, trans);
    case 'boolean':
    case 'choice':
    case 'object':
      return { value: field.choices.find(choice => String(choice) === text) ?? text, fault: '' };
    case 'text':
    case 'secret':
      return { value: text, fault: faultOfText(field, text, trans) };
  }
}

function readNumber({ kind, rules }: IField, text: string, trans: TranslationBundle): IReading {
  const typed = text.trim();
  const value = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(typed) ? Number(typed) : NaN;
  if (!Number.isFinite(value)) {
    return {
      value: text,
      fault: kind === 'integer' ? trans.__('Must be an integer.') : trans.__('Must be a number.')
    };
  }
  if (kind === 'integer' && !Number.isSafeInteger(value)) {
    return { value: text, fault: trans.__('Must be an integer.') };
  }
  return { value, fault: faultOfNumber(value, rules, trans) };
}

function faultOfNumber(value: number, rules: Json, trans: TranslationBundle): string {
  const bound = (name: string) => number(rules[name]);
  const [least, above, most, under] = [
    bound('minimum'),
    bound('exclusiveMinimum'),
    bound('maximum'),
    bound('exclusiveMaximum')
  ];
  if (least !== null && value < least) {
    return trans.__('Must be at least %1.', least);
  }
  if (above !== null && value <= above) {
    return trans.__('Must be greater than %1.', above);
  }
  if (most !== null && value > most) {
    return trans.__('Must be at most %1.', most);
  }
  return under !== null && value >= under ? trans.__('Must be less than %1.', under) : '';
}

function faultOfText({ rules }: IField, text: string, trans: TranslationBundle): string {
  const [least, most, pattern] = [number(rules['minLength']), number(rules['maxLength']), string(rules['pattern'])];
  // Count code points, as Python does.
  const length = Array.from(text).length;
  if (least !== null && length < least) {
    return trans.__('Must have at least %1 characters.', least);
  }
  if (most !== null && length > most) {
    return trans.__('Too long: %1 characters, at most %2 allowed.', length, most);
  }
  return pattern && !matches(pattern, text) ? trans.__('Invalid format.') : '';
}

/** Whether a text matches; patterns that the browser does not support are left to the engine. */
function matches(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return true;
  }
}

function readJson(text: string, trans: TranslationBundle): IReading {
  try {
    return { value: JSON.parse(text), fault: '' };
  } catch {
    return { value: text, fault: trans.__('Must be JSON, such as {"name": "value"}.') };
  }
}

function readMap(text: string, trans: TranslationBundle): IReading {
  const pairs = lines(text).map(line => [line, line.indexOf('=')] as const);
  const broken = pairs.find(([, place]) => place < 1);
  if (broken) {
    return { value: text, fault: trans.__('Each line must be NAME=VALUE: %1', broken[0]) };
  }
  const value = Object.fromEntries(pairs.map(([line, at]) => [line.slice(0, at).trim(), line.slice(at + 1).trim()]));
  return { value, fault: '' };
}

function lines(text: string): readonly string[] {
  return text
    .split('\n')
    .map(line => line.trim())
    .filter(Boolean);
}
