import assert from 'node:assert/strict';
import { mock, test } from 'node:test';

import type { IWidgetModel } from '../../../labextension/lib/api/comm.js';
import { KernelEngine } from '../../../labextension/lib/api/comm.js';
import type { IConnection } from '../../../labextension/lib/api/engine.js';
import { EngineError } from '../../../labextension/lib/api/engine.js';
import type { Message } from '../../../labextension/lib/api/wire.js';

type Listener = (message: unknown) => void;
type SentMessage = Readonly<Record<string, unknown>>;

/** The model of a widget, with the kernel's side of its comm. */
class Widget implements IWidgetModel {
  readonly sent: SentMessage[] = [];
  readonly listeners = new Set<Listener>();

  get(): unknown {
    return undefined;
  }

  send(message: object): void {
    this.sent.push(JSON.parse(JSON.stringify(message)) as SentMessage);
  }

  on(event: string, listener: Listener): void {
    assert.equal(event, 'msg:custom');
    this.listeners.add(listener);
  }

  off(_event: string, listener: Listener): void {
    this.listeners.delete(listener);
  }

  receive(message: object): void {
    this.listeners.forEach(listener => listener(message));
  }

  of(type: string): SentMessage[] {
    return this.sent.filter(message => message['type'] === type);
  }

  /** Return the last message of a type. */
  last(type: string): SentMessage {
    const message = this.of(type).at(-1);
    assert.ok(message, `no ${type} was sent`);
    return message;
  }

  /** Send a message of the stream that was opened last. */
  receiveOnStream(type: string, values: object = {}): void {
    const { page, stream } = this.last('open');
    this.receive({ type, page, stream, ...values });
  }
}

const TRANS = { __: (text: string) => text };
const LOG = { topic: 'log', job: 'a', tail: 10 } as const;

/** Run a test with an engine under mocked timers. */
async function withEngine(use: (widget: Widget, engine: KernelEngine) => Promise<void>): Promise<void> {
  mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] });
  const widget = new Widget();
  const engine = new KernelEngine(widget, TRANS);
  try {
    await use(widget, engine);
  } finally {
    engine.dispose();
    mock.timers.reset();
  }
}

/** Run the pending promises. */
const settle = () => new Promise<void>(resolve => setImmediate(resolve));

test('matches responses to calls by view and id', () =>
  withEngine(async (widget, engine) => {
    const other = new KernelEngine(widget, TRANS);
    const answers = [engine.call('show', { job: 'a' }), engine.call('pin', { job: 'b' }, { x: 1 })];
    const foreign = other.call('show', { job: 'c' });
    const [show, pin, third] = widget.sent;
    assert.ok(show && pin && third);
    assert.equal(pin['verb'], 'pin');
    assert.deepEqual([show['parameters'], pin['body']], [{ job: 'a' }, { x: 1 }]);
    assert.equal(show['id'], third['id']);
    assert.notEqual(show['page'], third['page']);
    widget.receive({ type: 'result', page: third['page'], id: third['id'], value: 'C' });
    widget.receive({ type: 'result', page: pin['page'], id: pin['id'], value: 'B' });
    widget.receive({ type: 'result', page: show['page'], id: show['id'], value: 'A' });
    assert.deepEqual(await Promise.all(answers), ['A', 'B']);
    assert.equal(await foreign, 'C');
    other.dispose();
    assert.equal(widget.listeners.size, 1);
  }));

test('a failed call rejects with the message of the engine', () =>
  withEngine(async (widget, engine) => {
    const call = engine.call('show', { job: 'x' });
    const { page, id } = widget.last('call');
    widget.receive({ type: 'error', page, id, message: 'no job', fix: 'list them', code: 'NotFound', status: 404 });
    await assert.rejects(call, new EngineError('no job', 'list them', 'NotFound', 404));
  }));

test('waits for a kernel that sends heartbeats, and fails for a silent one', () =>
  withEngine(async (widget, engine) => {
    const refused: unknown[] = [];
    engine.call('stop', { job: 'a' }).catch((error: unknown) => refused.push(error));
    const { page } = widget.last('call');
    for (let n = 0; n < 10; n++) {
      mock.timers.tick(10_000);
      widget.receive({ type: 'heartbeat', page, stream: 0, n: 0 });
    }
    await settle();
    assert.deepEqual(refused, []);
    mock.timers.tick(30_000);
    await settle();
    assert.match(String(refused[0]), /EngineError: .* does not respond/);
  }));

test('a stream delivers the messages of its own subscriptions', () =>
  withEngine(async (widget, engine) => {
    const received: Message[] = [];
    const abort = new AbortController();
    engine.subscribe(LOG, message => received.push(message), abort.signal);
    await settle();
    assert.equal(widget.of('send').length, 0);
    widget.receiveOnStream('open-ack');
    assert.deepEqual(JSON.parse(String(widget.last('send')['text'])), { type: 'subscribe', id: 1, ...LOG });
    const text = JSON.stringify({ id: 1, type: 'log', offset: 0, end: 2, text: 'x\n' });
    widget.receive({ type: 'data', page: 'another', stream: 1, n: 1, text });
    widget.receiveOnStream('data', { n: 1, text });
    assert.deepEqual(received, [{ id: 1, type: 'log', offset: 0, end: 2, text: 'x\n' }]);
    abort.abort();
    assert.equal(widget.last('close')['stream'], widget.last('open')['stream']);
  }));

for (const [event, trigger] of Object.entries({
  'a lost message': widget => widget.receiveOnStream('data', { n: 3, text: '{}' }),
  'a lost last message': widget => widget.receiveOnStream('heartbeat', { n: 2 }),
  'the kernel lost its server': widget => widget.receiveOnStream('closed'),
  'the kernel fell silent': () => mock.timers.tick(16_000)
} satisfies Record<string, (widget: Widget) => void>)) {
  test(`resumes a stream after ${event}`, () =>
    withEngine(async (widget, engine) => {
      const abort = new AbortController();
      const states: IConnection['state'][] = [];
      engine.watch(({ state }) => states.push(state), abort.signal);
      engine.subscribe(LOG, () => undefined, abort.signal);
      await settle();
      widget.receiveOnStream('open-ack');
      widget.receiveOnStream('data', {
        n: 1,
        text: JSON.stringify({ id: 1, type: 'log', offset: 0, end: 7, text: 'x' })
      });
      trigger(widget);
      assert.deepEqual(states, ['idle', 'connecting', 'open', 'broken']);
      mock.timers.tick(500);
      await settle();
      assert.deepEqual(
        widget.of('open').map(({ stream }) => stream),
        [1, 2]
      );
      widget.receiveOnStream('open-ack');
      assert.equal(states.at(-1), 'open');
      const subscription: unknown = JSON.parse(String(widget.last('send')['text']));
      assert.deepEqual(subscription, { type: 'subscribe', id: 1, topic: 'log', job: 'a', tail: 0, offset: 7 });
      abort.abort();
    }));
}

test('heartbeats keep an idle stream open in both directions', () =>
  withEngine(async (widget, engine) => {
    const states: IConnection['state'][] = [];
    const abort = new AbortController();
    engine.watch(({ state }) => states.push(state), abort.signal);
    engine.subscribe(LOG, () => undefined, abort.signal);
    await settle();
    widget.receiveOnStream('open-ack');
    for (let n = 0; n < 10; n++) {
      mock.timers.tick(10_000);
      widget.receiveOnStream('heartbeat', { n: 0 });
    }
    assert.deepEqual(states, ['idle', 'connecting', 'open']);
    assert.ok(widget.of('ping').length > 4);
    engine.dispose();
    assert.equal(widget.listeners.size, 0);
    assert.ok(widget.of('close').length === 1);
  }));
