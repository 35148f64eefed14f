/**
 * Options of the command line in the engine's messages, and the fields of a spec that they set.
 */

import type { Json } from './wire.js';
import { record, strings } from './wire.js';

/** An option in a message. The value is empty if the message has none, or only a word such as VALUE for it. */
export interface IOption {
  readonly option: string;
  /** The name in an option such as `--hp NAME=VALUE`. */
  readonly name: string;
  readonly value: string;
}

/** How an option sets a field: an entry of a table, an item of a list, a text or a number. */
export interface IOptionField {
  readonly kind: 'entry' | 'item' | 'text' | 'number';
  readonly path: string;
}

const entry = (path: string) => ({ kind: 'entry', path }) as const;
const item = (path: string) => ({ kind: 'item', path }) as const;
const text = (path: string) => ({ kind: 'text', path }) as const;
const number = (path: string) => ({ kind: 'number', path }) as const;

/** The field that each option sets. */
export const OPTION_FIELDS: Readonly<Record<string, IOptionField>> = {
  hp: entry('hyperparameters'),
  env: entry('environment'),
  label: entry('labels'),
  secret: entry('secrets'),
  input: entry('inputs'),
  output: entry('outputs'),
  option: entry('options'),
  requirement: item('requirements'),
  exclude: item('source.exclude'),
  include: item('source.include'),
  'allow-secret': item('source.allow_secret'),
  source: text('source.folder'),
  command: text('command'),
  container: text('options.container'),
  image: text('image'),
  'instance-type': text('instance_type'),
  memory: text('memory'),
  'output-path': text('output_path'),
  profile: text('profile'),
  python: text('python'),
  cpu: number('cpu'),
  gpu: number('gpu'),
  'instance-count': number('instance_count'),
  'max-run-time': number('max_run_time')
};

// A command with its options, which stay, also any other between backticks; an option with the next word.
const OPTION =
  /(?:%{1,2}pai(?:_train)?|jupyter pai|pip install|torchrun)\b[^.,;:()`\n，。；：（）]*|`[a-z%][^`\n]*`|`?--([a-z]+(?:-[a-z]+)*)(?![\w-])`?(?:[ =]('[^']*'(?:"'"'[^']*')*|(?:[^\s,;:()`，。；：（）]|[,:](?=[\w/]))+))?/g;
// Words in the place of a value.
const PLACEHOLDER = /^(?:NAME|VALUE|PATH|FOLDER|URI|URL|FILE|SPEC|KEY|TYPE|GLOB|ID|…)$/;
// Options whose next word is a value. After others, a value is in quotes, in capitals, a number, a path or a pattern.
const TAKES_WORD = /^(?:allow-secret|container|requirement)$/;
const VALUE = /^(?:'.*'|[A-Z]{2,}|\d[\w.]*|\S*[/*?[]\S*)$/s;

/** Return the parts of a message: texts, and the known options in it. */
export function partsOf(message: string, isKnown: (option: string) => boolean): readonly (string | IOption)[] {
  const parts: (string | IOption)[] = [];
  let end = 0;
  for (const match of message.matchAll(OPTION)) {
    const [whole, option = '', word = ''] = match;
    if (!isKnown(option)) {
      continue;
    }
    const [value, rest] = valueOf(option, word);
    parts.push(message.slice(end, match.index), { option, ...value });
    end = match.index + whole.length - rest;
  }
  return [...parts, message.slice(end)].filter(part => part !== '');
}

/** Return the name and value in a word, and the number of characters that belong to the sentence. */
function valueOf(option: string, word: string): readonly [Pick<IOption, 'name' | 'value'>, number] {
  const nothing = { name: '', value: '' };
  const own = word.replace(/(?<!=)\.$/, '');
  const plain = own.replace(/^'(.*)'$/s, '$1').replaceAll(`'"'"'`, "'");
  const kind = OPTION_FIELDS[option]?.kind;
  if (kind === 'entry' && plain.includes('=')) {
    const [name, value] = [plain.slice(0, plain.indexOf('=')), plain.slice(plain.indexOf('=') + 1)];
    const filled = PLACEHOLDER.test(name) ? nothing : { name, value: PLACEHOLDER.test(value) ? '' : value };
    return [filled, word.length - own.length];
  }
  if (word && kind && kind !== 'entry' && (TAKES_WORD.test(option) || VALUE.test(own))) {
    return [PLACEHOLDER.test(plain) ? nothing : { name: '', value: plain }, word.length - own.length];
  }
  return [nothing, word ? word.length + 1 : 0];
}

// Fields that a rerun, which has the code of its job, cannot change.
const OF_THE_CODE = /^(?:source\b|command$|profile$)/;

/** Return the changes with which a rerun of a spec has an option; null if there are none. */
export function changesOf(spec: Json, { option, name, value }: IOption): Json | null {
  const field = OPTION_FIELDS[option];
  if (!field || !value || OF_THE_CODE.test(field.path)) {
    return null;
  }
  const { kind, path } = field;
  const [table = '', inner] = path.split('.');
  if (inner) {
    return { [table]: { [inner]: value } };
  }
  switch (kind) {
    case 'entry':
      return { [path]: { [name]: value } };
    case 'item':
      return { [path]: [...strings(record(spec)[path]), value] };
    case 'number':
      return { [path]: Number(value) };
    case 'text':
      return { [path]: value };
  }
}
