import assert from 'node:assert/strict';
import { mock, test } from 'node:test';

import type { IWidgetModel } from '../../../labextension/lib/api/comm.js';
import { KernelEngine } from '../../../labextension/lib/api/comm.js';
import type { IConnection } from '../../../labextension/lib/api/engine.js';
import { EngineError } from '../../../labextension/lib/api/engine.js';
import type { Message } from '../../../labextension/lib/api/wire.js';

type Heard = (message: unknown) => void;
type Sent = Readonly<Record<string, unknown>>;

/** A widget's model, and the kernel's end of it. */
class Widget implements IWidgetModel {
  readonly sent: Sent[] = [];
  readonly listeners = new Set<Heard>();

  get(): unknown {
    return undefined;
  }

  send(message: object): void {
    this.sent.push(JSON.parse(JSON.stringify(message)) as Sent);
  }

  on(event: string, heard: Heard): void {
    assert.equal(event, 'msg:custom');
    this.listeners.add(heard);
  }

  off(_event: string, heard: Heard): void {
    this.listeners.delete(heard);
  }

  say(message: object): void {
    this.listeners.forEach(heard => heard(message));
  }

  of(type: string): Sent[] {
    return this.sent.filter(message => message['type'] === type);
  }

  /** The last message of a type. */
  last(type: string): Sent {
    const found = this.of(type).at(-1);
    assert.ok(found, `no ${type} was sent`);
    return found;
  }

  /** Say something of a text for the stream that was opened last. */
  tell(type: string, values: object = {}): void {
    const { page, stream } = this.last('open');
    this.say({ type, page, stream, ...values });
  }
}

const TRANS = { __: (text: string) => text };
const LOG = { topic: 'log', job: 'a', tail: 10 } as const;

/** An engine with its time in our hands. */
async function scene(play: (widget: Widget, engine: KernelEngine) => Promise<void>): Promise<void> {
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] });
  const widget = new Widget();
  const engine = new KernelEngine(widget, TRANS);
  try {
    await play(widget, engine);
  } finally {
    engine.dispose();
    mock.timers.reset();
  }
}

/** Let what waits for nothing but its turn go on. */
const turn = () => new Promise<void>(resolve => setImmediate(resolve));

test('calls are answered by their ids, each view by its own', () =>
  scene(async (widget, engine) => {
    const other = new KernelEngine(widget, TRANS);
    const answers = [engine.call('show', { job: 'a' }), engine.call('pin', { job: 'b' }, { x: 1 })];
    const foreign = other.call('show', { job: 'c' });
    const [show, pin, third] = widget.sent;
    assert.ok(show && pin && third);
    assert.equal(pin['verb'], 'pin');
    assert.deepEqual([show['parameters'], pin['body']], [{ job: 'a' }, { x: 1 }]);
    assert.equal(show['id'], third['id']);
    assert.notEqual(show['page'], third['page']);
    widget.say({ type: 'answer', page: third['page'], id: third['id'], value: 'C' });
    widget.say({ type: 'answer', page: pin['page'], id: pin['id'], value: 'B' });
    widget.say({ type: 'answer', page: show['page'], id: show['id'], value: 'A' });
    assert.deepEqual(await Promise.all(answers), ['A', 'B']);
    assert.equal(await foreign, 'C');
    other.dispose();
    assert.equal(widget.listeners.size, 1);
  }));

test('what the engine refuses is said in its words', () =>
  scene(async (widget, engine) => {
    const call = engine.call('show', { job: 'x' });
    const { page, id } = widget.last('call');
    widget.say({ type: 'failure', page, id, message: 'no job', fix: 'list them', code: 'NotFound', status: 404 });
    await assert.rejects(call, new EngineError('no job', 'list them', 'NotFound', 404));
  }));

test('a kernel that lives is waited for, one that is silent is not', () =>
  scene(async (widget, engine) => {
    const refused: unknown[] = [];
    engine.call('stop', { job: 'a' }).catch((error: unknown) => refused.push(error));
    const { page } = widget.last('call');
    for (let n = 0; n < 10; n++) {
      mock.timers.tick(10_000);
      widget.say({ type: 'alive', page, stream: 0, n: 0 });
    }
    await turn();
    assert.deepEqual(refused, []);
    mock.timers.tick(30_000);
    await turn();
    assert.match(String(refused[0]), /EngineError: .* does not respond/);
  }));

test('a stream has what is subscribed, in order and for nobody else', () =>
  scene(async (widget, engine) => {
    const heard: Message[] = [];
    const life = new AbortController();
    engine.subscribe(LOG, message => heard.push(message), life.signal);
    await turn();
    assert.equal(widget.of('send').length, 0);
    widget.tell('opened');
    assert.deepEqual(JSON.parse(String(widget.last('send')['text'])), { type: 'subscribe', id: 1, ...LOG });
    const text = JSON.stringify({ id: 1, type: 'log', offset: 0, end: 2, text: 'x\n' });
    widget.say({ type: 'said', page: 'another', stream: 1, n: 1, text });
    widget.tell('said', { n: 1, text });
    assert.deepEqual(heard, [{ id: 1, type: 'log', offset: 0, end: 2, text: 'x\n' }]);
    life.abort();
    assert.equal(widget.last('close')['stream'], widget.last('open')['stream']);
  }));

for (const [how, happens] of Object.entries({
  'a message that was lost': widget => widget.tell('said', { n: 3, text: '{}' }),
  'a last message that was lost': widget => widget.tell('alive', { n: 2 }),
  'a server that the kernel has lost': widget => widget.tell('closed'),
  'a kernel of which nothing is heard': () => mock.timers.tick(16_000)
} satisfies Record<string, (widget: Widget) => void>)) {
  test(`after ${how} it goes on from where it stood`, () =>
    scene(async (widget, engine) => {
      const life = new AbortController();
      const states: IConnection['state'][] = [];
      engine.watch(({ state }) => states.push(state), life.signal);
      engine.subscribe(LOG, () => undefined, life.signal);
      await turn();
      widget.tell('opened');
      widget.tell('said', { n: 1, text: JSON.stringify({ id: 1, type: 'log', offset: 0, end: 7, text: 'x' }) });
      happens(widget);
      assert.deepEqual(states, ['idle', 'connecting', 'open', 'broken']);
      mock.timers.tick(500);
      await turn();
      assert.deepEqual(
        widget.of('open').map(({ stream }) => stream),
        [1, 2]
      );
      widget.tell('opened');
      assert.equal(states.at(-1), 'open');
      const asked: unknown = JSON.parse(String(widget.last('send')['text']));
      assert.deepEqual(asked, { type: 'subscribe', id: 1, topic: 'log', job: 'a', tail: 0, offset: 7 });
      life.abort();
    }));
}

test('signs of life keep a quiet stream, and the kernel hears that the page is there', () =>
  scene(async (widget, engine) => {
    const states: IConnection['state'][] = [];
    const life = new AbortController();
    engine.watch(({ state }) => states.push(state), life.signal);
    engine.subscribe(LOG, () => undefined, life.signal);
    await turn();
    widget.tell('opened');
    for (let n = 0; n < 10; n++) {
      mock.timers.tick(10_000);
      widget.tell('alive', { n: 0 });
    }
    assert.deepEqual(states, ['idle', 'connecting', 'open']);
    assert.ok(widget.of('here').length > 4);
    engine.dispose();
    assert.equal(widget.listeners.size, 0);
    assert.ok(widget.of('close').length === 1);
  }));
