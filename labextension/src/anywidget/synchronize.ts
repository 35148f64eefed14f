/**
 * Two-way synchronization of the draft of a form and the trait `request` of its widget.
 */

import type { ReadonlyJSONObject } from '@lumino/coreutils';
import { JSONExt } from '@lumino/coreutils';

import type { IWidgetModel } from '../api/comm.js';
import type { Json } from '../api/wire.js';
import { record } from '../api/wire.js';
import type { IDraft } from '../train/draft.js';
import { requestOf, TABLES, textOf } from '../train/draft.js';
import type { TrainFormModel } from '../train/formmodel.js';
import type { IDeclaredHyperparameter } from '../train/preview.js';

/** The part of an anywidget model used by a form. */
export interface IFormWidget extends IWidgetModel {
  set(name: string, value: unknown): void;
  save_changes(): void;
}

/** Copy changes of the draft to the widget, and changes of the widget to the draft. Return a function that stops it. */
export function synchronize(widget: IFormWidget, form: TrainFormModel): () => void {
  const requests = (draft: IDraft) => {
    const stored = record(widget.get('request'));
    return { stored, edited: requestFor(draft, stored, form.declared) };
  };
  const send = () => {
    if (form.draft) {
      const { stored, edited } = requests(form.draft);
      if (!isEqual(stored, edited)) {
        widget.set('request', edited);
        widget.save_changes();
      }
    }
  };
  const receive = () => {
    if (form.draft) {
      const { stored, edited } = requests(form.draft);
      if (!isEqual(stored, edited)) {
        form.setRequest(stored);
      }
    }
  };
  form.changed.connect(send);
  widget.on('change:request', receive);
  return () => {
    form.changed.disconnect(send);
    widget.off('change:request', receive);
  };
}

/**
 * Return the request of a draft with the types of Python. A value with an unchanged text keeps its type in `stored`; a
 * changed hyperparameter gets the type that the code declares.
 */
export function requestFor(draft: IDraft, stored: Json, declared: readonly IDeclaredHyperparameter[]): Json {
  const request = requestOf(draft);
  const [spec, before] = [record(request['spec']), record(stored['spec'])];
  const types = new Map(
    declared.flatMap(parameter => [parameter.name, ...parameter.aliases].map(name => [name, parameter.type] as const))
  );
  const tables = TABLES.filter(table => table in spec).map(table => {
    const values = Object.entries(record(spec[table])).map(([name, value]) => {
      const text = String(value);
      const old = record(before[table])[name];
      const type = table === 'hyperparameters' ? (types.get(name) ?? '') : '';
      return [name, old !== undefined && textOf(old) === text ? old : parseTyped(text, type)] as const;
    });
    return [table, Object.fromEntries(values)] as const;
  });
  return { ...request, spec: { ...spec, ...(Object.fromEntries(tables) as Json) } };
}

const INTEGER = /^[+-]?\d+$/;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

function parseTyped(text: string, type: string): unknown {
  const number = Number(text);
  if (type === 'int') {
    return INTEGER.test(text) && Number.isSafeInteger(number) ? number : text;
  }
  if (type === 'float') {
    return NUMBER.test(text) && Number.isFinite(number) ? number : text;
  }
  return type === 'bool' && (text === 'True' || text === 'False') ? text === 'True' : text;
}

function isEqual(one: Json, other: Json): boolean {
  return JSONExt.deepEqual(one as ReadonlyJSONObject, other as ReadonlyJSONObject);
}
