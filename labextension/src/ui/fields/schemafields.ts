/**
 * The fields of a form, from a JSON Schema as pydantic writes it.
 */

import type { Json } from '../../api/wire.js';
import { list, record, string, strings } from '../../api/wire.js';

/** `list` and `map` are of texts, one a line; `json` is any JSON; `object` has fields of its own. */
export type FieldKind =
  'text' | 'secret' | 'integer' | 'number' | 'boolean' | 'choice' | 'list' | 'map' | 'json' | 'object';

/** A field, or an object of fields. `start` is what counts where nothing is given, undefined where nothing does. */
export interface IField {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly kind: FieldKind;
  readonly isRequired: boolean;
  /** An object that may be left out as a whole, though none of its own fields is required. */
  readonly isOptional: boolean;
  readonly start: unknown;
  readonly choices: readonly (string | number | boolean)[];
  readonly fields: readonly IField[];
  /** The rules for what stands in it, in the schema's own words. */
  readonly rules: Json;
}

// Names of things that are not spelt like words.
const SHORT = new Set(['arn', 'cpu', 'gpu', 'id', 'ip', 'oss', 'ram', 'tty', 'uri', 'url', 'vpc']);
// A schema may refer to itself.
const DEEPEST = 6;

/** The fields of an object's schema, in its order. */
export function fieldsOf(schema: Json, exclude: readonly string[] = []): readonly IField[] {
  return below(schema, record(schema['$defs']), exclude, 0);
}

function below(schema: Json, known: Json, exclude: readonly string[], depth: number): readonly IField[] {
  const required = strings(schema['required']);
  return Object.entries(record(schema['properties']))
    .filter(([name]) => !exclude.includes(name))
    .map(([name, said]) => fieldOf(name, record(said), known, required.includes(name), depth));
}

function fieldOf(name: string, said: Json, known: Json, isRequired: boolean, depth: number): IField {
  const [kinds, isNullable] = alternatives(said, known);
  const only = kinds.length === 1 ? (kinds[0] ?? {}) : {};
  const schema = { ...only, ...without(said, ['$ref', 'anyOf', 'oneOf', 'allOf']) };
  const kind = kindOf(kinds, isNullable, depth);
  return {
    name,
    title: titleOf(name, string(said['title'])),
    description: string(schema['description']),
    kind,
    isRequired,
    isOptional: kind === 'object' && isNullable,
    start: said['default'] ?? undefined,
    choices: choicesOf(kinds, isNullable).filter(choice => choice !== ''),
    fields: kind === 'object' ? below(only, known, [], depth + 1) : [],
    rules: only
  };
}

/** What a schema may be, references followed, and whether null is one of it. */
function alternatives(said: Json, known: Json): readonly [readonly Json[], boolean] {
  const whole = followed(said, known);
  const several = [...list(whole['anyOf']), ...list(whole['oneOf'])].map(one => followed(record(one), known));
  const types = list(whole['type']);
  const kinds = several.length ? several : types.length ? types.map(type => ({ ...whole, type })) : [whole];
  const real = kinds.filter(one => one['type'] !== 'null');
  return [real, real.length < kinds.length];
}

function followed(said: Json, known: Json): Json {
  const [first] = list(said['allOf']);
  const reference = string(said['$ref']) || string(record(first)['$ref']);
  const found = record(known[reference.replace(/^#\/\$defs\//, '')]);
  return reference ? { ...found, ...without(said, ['$ref', 'allOf']) } : said;
}

function kindOf(kinds: readonly Json[], isNullable: boolean, depth: number): FieldKind {
  const [only] = kinds;
  if (only && kinds.length === 1 && only['type'] === 'boolean' && !isNullable) {
    return 'boolean';
  }
  if (choicesOf(kinds, isNullable).length) {
    return 'choice';
  }
  if (!only || kinds.length > 1) {
    const types = kinds.map(kind => kind['type']);
    const isNumeric = types.length > 0 && types.every(type => type === 'integer' || type === 'number');
    return isNumeric ? 'number' : types.includes('string') && !types.includes('object') ? 'text' : 'json';
  }
  switch (only['type']) {
    case 'string':
      return only['format'] === 'password' || only['writeOnly'] === true ? 'secret' : 'text';
    case 'integer':
    case 'number':
      return only['type'];
    case 'array':
      return record(only['items'])['type'] === 'string' ? 'list' : 'json';
    case 'object': {
      const isFree = Object.keys(record(only['properties'])).length === 0;
      const isMap = record(only['additionalProperties'])['type'] === 'string';
      return !isFree && depth < DEEPEST ? 'object' : isMap ? 'map' : 'json';
    }
    default:
      return 'json';
  }
}

/** All that may stand in a field, if it can be counted; nothing if it cannot. */
function choicesOf(kinds: readonly Json[], isNullable: boolean): readonly (string | number | boolean)[] {
  const each = kinds.map(kind => {
    const said = 'const' in kind ? [kind['const']] : list(kind['enum']);
    const isSwitch = kind['type'] === 'boolean' && (isNullable || kinds.length > 1);
    return isSwitch && !said.length ? [true, false] : said;
  });
  const all = each.every(some => some.length) ? each.flat() : [];
  return all.filter(one => typeof one === 'string' || typeof one === 'number' || typeof one === 'boolean');
}

/** A field's own title, or its name as words where pydantic made the title of it. */
function titleOf(name: string, title: string): string {
  const words = name.split('_').filter(Boolean);
  const made = words.map(word => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase()).join(' ');
  if (title && title !== made) {
    return title;
  }
  const text = words.map(word => (SHORT.has(word) ? word.toUpperCase() : word)).join(' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function without(schema: Json, names: readonly string[]): Json {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => !names.includes(name)));
}

/** The object with another value of a field; without it where that is undefined. */
export function changed(value: Json, name: string, given: unknown): Json {
  return given === undefined ? without(value, [name]) : { ...value, [name]: given };
}

/** What an object's fields give; undefined where none is given and it can be left out. */
export function trimmed(field: IField, value: Json): Json | undefined {
  return Object.keys(value).length || field.isOptional ? value : undefined;
}

/** What is wrong with a field as a whole, or with something in it that has no field of its own. */
export function faultAt(field: IField, faults: ReadonlyMap<string, string>): string {
  const own = [...faults].filter(([path]) => {
    const [first, next] = path.split(/[.[]/);
    return first === field.name && (next === undefined || !field.fields.some(one => one.name === next));
  });
  return [...new Set(own.map(([, text]) => text))].join(' ');
}

/** What is wrong within an object, by paths below it. */
export function faultsBelow(name: string, faults: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const start = `${name}.`;
  return new Map(
    [...faults].flatMap(([path, text]) => (path.startsWith(start) ? [[path.slice(start.length), text]] : []))
  );
}
