/** A Train panel over a fake engine and a fake host. */

import assert from 'node:assert/strict';
import { mock } from 'node:test';

import type { IEngine, Parameters } from '../../../labextension/lib/api/engine.js';
import type { Verb } from '../../../labextension/lib/api/routes.js';
import type { Json } from '../../../labextension/lib/api/wire.js';
import { record, string } from '../../../labextension/lib/api/wire.js';
import type { IHost } from '../../../labextension/lib/host/host.js';
import { field, withField } from '../../../labextension/lib/train/draft.js';
import { TrainPanelModel } from '../../../labextension/lib/train/panelmodel.js';
import type { IContext } from '../../../labextension/lib/ui/context.js';

interface ICall {
  readonly verb: Verb;
  readonly parameters: Parameters;
  readonly body: Json;
}

/** An engine with canned responses, which can hold back previews. */
class Engine implements IEngine {
  readonly kind = 'server';
  readonly calls: ICall[] = [];
  readonly waiting: (() => void)[] = [];
  answers: Readonly<Record<string, (call: ICall) => unknown>> = {};
  isSlow = false;

  async call(verb: Verb, parameters: Parameters = {}, body?: unknown): Promise<unknown> {
    const call = { verb, parameters, body: record(body) };
    this.calls.push(call);
    if (verb === 'preview' && this.isSlow) {
      await new Promise<void>(resolve => this.waiting.push(resolve));
    }
    const answer = this.answers[verb];
    return answer ? answer(call) : {};
  }

  subscribe(): void {
    assert.fail();
  }

  watch(): void {
    assert.fail();
  }

  url(): null {
    return null;
  }

  of(verb: Verb): readonly ICall[] {
    return this.calls.filter(call => call.verb === verb);
  }
}

/** A host page with documents, which records what it is asked to do. */
class Host {
  readonly opened: string[] = [];
  readonly messages: string[] = [];
  readonly saved: string[] = [];
  unsaved: readonly string[] = [];
  agrees = true;
  activate: (path: string) => void = () => undefined;
  rename: (from: string, to: string) => void = () => undefined;

  readonly host: IHost = {
    confirm: async ({ text }) => {
      this.messages.push(text);
      return this.agrees;
    },
    askText: async () => null,
    notify: text => void this.messages.push(text),
    openJob: (id, back) => void this.opened.push(`${id} from ${back ?? ''}`),
    watchDocument: receive => void (this.activate = receive),
    watchRenamed: receive => void (this.rename = receive),
    watchUnsaved: receive => receive(this.unsaved),
    save: async path => void this.saved.push(path)
  };
}

const trans = {
  __: (text: string, ...values: unknown[]) =>
    values.reduce((all: string, value, n) => all.replace(`%${n + 1}`, String(value)), text)
} as unknown as IContext['trans'];

export function formOf({ path }: Parameters): Json {
  const whole = `/${string(path)}`;
  const cut = whole.lastIndexOf('/');
  const spec = { entry_point: whole.slice(cut + 1), source: { folder: whole.slice(0, cut) || '/' } };
  const kind = whole.endsWith('.ipynb') ? 'notebook' : 'script';
  const place = kind === 'notebook' ? { notebook: whole } : { form: whole };
  return { request: { ...place, spec }, kind, last: null, entries: [] };
}

export function createPanel(answers: Engine['answers'] = {}): { engine: Engine; page: Host; model: TrainPanelModel } {
  const [engine, page] = [new Engine(), new Host()];
  engine.answers = {
    form: ({ parameters }) => formOf(parameters),
    preview: ({ body }) => ({ spec: body['spec'], files: 1, notes: [string(record(body['spec'])['name'])] }),
    submit: () => ({ job: { id: 'j1', status: 'running' } }),
    ...answers
  };
  const model = new TrainPanelModel({ engine, host: page.host, trans, lang: 'en' });
  model.follow(new AbortController().signal);
  return { engine, page, model };
}

/** Advance the timers by `milliseconds` and run the pending promises. */
export async function advance(milliseconds = 0): Promise<void> {
  mock.timers.tick(milliseconds);
  for (let n = 0; n < 40; n++) {
    await Promise.resolve();
  }
}

export const setName = (model: TrainPanelModel, name: string) => {
  assert.ok(model.form?.draft);
  model.form.change(withField(model.form.draft, 'name', name));
};

export const nameIn = ({ form }: TrainPanelModel) => form?.draft && field(form.draft, 'name');
