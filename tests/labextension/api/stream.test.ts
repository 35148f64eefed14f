import assert from 'node:assert/strict';
import { mock, test } from 'node:test';

import { HeartbeatSocket } from '../../../labextension/lib/api/heartbeat.js';
import type { ISocket } from '../../../labextension/lib/api/stream.js';
import { JobStream } from '../../../labextension/lib/api/stream.js';
import type { Message } from '../../../labextension/lib/api/wire.js';

/** The server's side of a socket. */
class Socket implements ISocket {
  onopen: ((event: never) => void) | null = null;
  onmessage: ((event: MessageEvent) => void) | null = null;
  onclose: ((event: never) => void) | null = null;
  readonly sent: Record<string, unknown>[] = [];
  closed = false;

  send(text: string): void {
    this.sent.push(JSON.parse(text) as Record<string, unknown>);
  }

  close(): void {
    this.closed = true;
  }

  accept(): void {
    this.onopen?.(undefined as never);
  }

  receive(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) } as MessageEvent);
  }

  break(): void {
    this.onclose?.(undefined as never);
  }
}

function server(wrap = (socket: ISocket) => socket): { stream: JobStream; sockets: Socket[] } {
  const sockets: Socket[] = [];
  const stream = new JobStream(() => {
    const socket = new Socket();
    sockets.push(socket);
    return wrap(socket);
  });
  return { stream, sockets };
}

function nth(sockets: Socket[], n: number): Socket {
  const socket = sockets[n];
  assert.ok(socket, `there is no socket ${n}`);
  return socket;
}

const LOG = { topic: 'log', job: 'a', tail: 10 } as const;

test('one socket serves all subscriptions', () => {
  const { stream, sockets } = server();
  const life = new AbortController();
  stream.subscribe({ topic: 'job', job: 'a' }, () => undefined, life.signal);
  stream.subscribe(LOG, () => undefined, life.signal);
  assert.equal(sockets.length, 1);
  nth(sockets, 0).accept();
  stream.subscribe({ topic: 'job', job: 'b' }, () => undefined, life.signal);
  assert.deepEqual(nth(sockets, 0).sent, [
    { type: 'subscribe', id: 1, topic: 'job', job: 'a' },
    { type: 'subscribe', id: 2, topic: 'log', job: 'a', tail: 10 },
    { type: 'subscribe', id: 3, topic: 'job', job: 'b' }
  ]);
});

test('delivers a message to its subscriber only', () => {
  const { stream, sockets } = server();
  const received: Message[] = [];
  const life = new AbortController();
  stream.subscribe(LOG, message => received.push(message), life.signal);
  stream.subscribe({ ...LOG, job: 'b' }, () => assert.fail(), life.signal);
  nth(sockets, 0).accept();
  nth(sockets, 0).receive({ id: 1, type: 'log', offset: 0, end: 2, text: 'x\n' });
  nth(sockets, 0).receive({ id: 99, type: 'end' });
  assert.deepEqual(received, [{ id: 1, type: 'log', offset: 0, end: 2, text: 'x\n' }]);
});

test('reconnects with growing delays and resumes at the last offset', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const { stream, sockets } = server();
    stream.subscribe(LOG, () => undefined, new AbortController().signal);
    nth(sockets, 0).accept();
    nth(sockets, 0).receive({ id: 1, type: 'log', offset: 0, end: 7, text: 'x' });
    nth(sockets, 0).break();
    mock.timers.tick(499);
    assert.equal(sockets.length, 1);
    mock.timers.tick(1);
    assert.equal(sockets.length, 2);
    nth(sockets, 1).break();
    mock.timers.tick(999);
    assert.equal(sockets.length, 2);
    mock.timers.tick(1);
    nth(sockets, 2).accept();
    assert.deepEqual(nth(sockets, 2).sent, [{ type: 'subscribe', id: 1, topic: 'log', job: 'a', tail: 0, offset: 7 }]);
  } finally {
    mock.timers.reset();
  }
});

test('resumes metrics with the counts and sources of the known points', t => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { stream, sockets } = server();
  const life = new AbortController();
  stream.subscribe({ topic: 'metrics', job: 'a' }, () => undefined, life.signal);
  nth(sockets, 0).accept();
  const points = { start: 0, end: 3, step: [0, 1, 2], value: [1, 2, 3], time: [1, 2, 3] };
  nth(sockets, 0).receive({ id: 1, type: 'metrics', metrics: { loss: { ...points, source: 'detected' } } });
  nth(sockets, 0).receive({ id: 1, type: 'metrics', metrics: { acc: { ...points, source: 'report' } } });
  nth(sockets, 0).break();
  t.mock.timers.tick(60_000);
  nth(sockets, 1).accept();
  const request = nth(sockets, 1).sent[0] ?? {};
  assert.deepEqual(request['counts'], { loss: 3, acc: 3 });
  assert.deepEqual(request['sources'], { loss: 'detected', acc: 'report' });
  life.abort();
});

test('drops an ended subscription, and closes the socket after the last one', () => {
  const { stream, sockets } = server();
  const life = new AbortController();
  stream.subscribe(LOG, () => undefined, life.signal);
  stream.subscribe({ topic: 'job', job: 'a' }, () => undefined, life.signal);
  nth(sockets, 0).accept();
  nth(sockets, 0).receive({ id: 1, type: 'end' });
  assert.equal(nth(sockets, 0).closed, false);
  life.abort();
  assert.equal(nth(sockets, 0).closed, true);
  assert.deepEqual(nth(sockets, 0).sent.at(-1), { type: 'unsubscribe', id: 2 });
});

test('does not subscribe with an aborted signal', () => {
  const { stream, sockets } = server();
  stream.subscribe(LOG, () => undefined, AbortSignal.abort());
  assert.equal(sockets.length, 0);
});

test('stops reconnecting once the last view is gone', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const { stream, sockets } = server();
    const life = new AbortController();
    stream.subscribe(LOG, () => undefined, life.signal);
    nth(sockets, 0).break();
    life.abort();
    mock.timers.tick(60_000);
    assert.equal(sockets.length, 1);
  } finally {
    mock.timers.reset();
  }
});

test('reconnects when a ping gets no response', () => {
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  try {
    const { stream, sockets } = server(socket => new HeartbeatSocket(socket));
    const states: string[] = [];
    const life = new AbortController();
    stream.subscribe(LOG, () => undefined, life.signal);
    stream.watch(({ state }) => states.push(state), life.signal);
    nth(sockets, 0).accept();
    for (let n = 0; n < 10; n++) {
      mock.timers.tick(10_000);
      assert.deepEqual(nth(sockets, 0).sent.at(-1), { type: 'ping' });
      nth(sockets, 0).receive({ id: null, type: 'pong' });
    }
    nth(sockets, 0).receive({ id: 1, type: 'log', offset: 0, end: 7, text: 'x' });
    mock.timers.tick(20_000);
    assert.equal(nth(sockets, 0).closed, true);
    mock.timers.tick(500);
    nth(sockets, 1).accept();
    assert.deepEqual(states, ['connecting', 'open', 'broken', 'open']);
    assert.deepEqual(nth(sockets, 1).sent, [{ type: 'subscribe', id: 1, topic: 'log', job: 'a', tail: 0, offset: 7 }]);
    // A server that rejects or never accepts the connection.
    nth(sockets, 1).break();
    [500, 10_000, 10_000, 1_000].forEach(time => mock.timers.tick(time));
    assert.equal(sockets.length, 4);
    life.abort();
    mock.timers.tick(100_000);
    assert.equal(sockets.length, 4);
  } finally {
    mock.timers.reset();
  }
});

test('reconnects immediately when the network is back', () => {
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  try {
    const { stream, sockets } = server(socket => new HeartbeatSocket(socket));
    stream.check();
    assert.equal(sockets.length, 0);
    stream.subscribe(LOG, () => undefined, new AbortController().signal);
    for (let n = 0; n < 6; n++) {
      nth(sockets, n).break();
      stream.check();
      assert.equal(sockets.length, n + 2);
    }
    nth(sockets, 6).accept();
    stream.check();
    assert.deepEqual(nth(sockets, 6).sent.at(-1), { type: 'ping' });
  } finally {
    mock.timers.reset();
  }
});
